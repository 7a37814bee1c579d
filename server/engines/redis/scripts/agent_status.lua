-- Reads the status of an agent. ARGV[3] is its id. Returns when sweeping resumed, then its status or false.

return { redis.call('HGET', PREFIX .. 'meta', 'resumed'), read_status(ARGV[3]) }
