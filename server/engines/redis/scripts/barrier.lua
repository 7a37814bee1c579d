-- The small write of the barrier. KEYS[1] is what the names of all keys begin with.

return redis.call('INCR', KEYS[1] .. 'barrier')
