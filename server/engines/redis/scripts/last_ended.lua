-- The tasks that ended last, the last of them first.
return redis.call('LRANGE', PREFIX .. 'last-ended', 0, -1)
