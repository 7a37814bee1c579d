/** Reads a stream of server-sent events as the HTML standard says, however its bytes are cut. */

export type StreamEvent = {
  /** Its type; `message` if none was sent. */
  readonly type: string;
  readonly data: string;
  /** The last id that was sent up to this event; empty if none was. */
  readonly id: string;
};

/** Creates a function that takes the next characters and returns the events that they complete. */
export function createEventParser(): (text: string) => readonly StreamEvent[] {
  let rest = '';
  let isFirst = true;
  let isAfterReturn = false;
  let data: string[] = [];
  let type = '';
  let id = '';

  function takeLine(line: string): StreamEvent | undefined {
    if (line === '') {
      const event = data.length === 0 ? undefined : { type: type || 'message', data: data.join('\n'), id };
      data = [];
      type = '';
      return event;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') type = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
    return undefined;
  }

  return (text) => {
    rest += text;
    if (isFirst && rest !== '') {
      rest = rest.replace(/^\ufeff/, '');
      isFirst = false;
    }
    const events: StreamEvent[] = [];
    for (;;) {
      // The LF of a CR LF may come with the next characters.
      if (isAfterReturn && rest !== '') {
        rest = rest.replace(/^\n/, '');
        isAfterReturn = false;
      }
      const end = /\r\n|\n|\r/.exec(rest);
      if (!end) return events;
      isAfterReturn = end[0] === '\r';
      const event = takeLine(rest.slice(0, end.index));
      rest = rest.slice(end.index + end[0].length);
      if (event) events.push(event);
    }
  };
}
