/*
 * Preloaded before anything else. If Node is too old to run the gateway, it prints one sentence and exits,
 * before the first .ts file is read. Written in a syntax that every version of Node can parse.
 */
(function checkNodeVersion() {
  var needed = [24, 18];
  var present = process.versions.node.split('.').map(Number);
  var enough = present[0] > needed[0] || (present[0] === needed[0] && present[1] >= needed[1]);
  if (enough) return;
  console.error(
    'Task Gateway needs Node ' +
      needed.join('.') +
      ' or newer and this is Node ' +
      process.versions.node +
      ': install Node 24 (https://nodejs.org), or in a checkout on Linux x64 run "npm ci", which brings it for the npm scripts.',
  );
  process.exit(1);
})();
