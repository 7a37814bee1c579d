-- Reads the tasks that ended last, the latest first.
return redis.call('LRANGE', PREFIX .. 'last-ended', 0, -1)
