-- How one agent stands. ARGV[3] its id. Answers: since when sweeping goes on, what is told of the agent or nothing.

return { redis.call('HGET', P .. 'meta', 'resumed'), describe(ARGV[3]) }
