-- The small write of the barrier. KEYS[1] is the prefix of all keys.

return redis.call('INCR', KEYS[1] .. 'barrier')
