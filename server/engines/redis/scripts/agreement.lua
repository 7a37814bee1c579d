-- Applies nothing at a time that the caller's monotonic clock contradicts: the clock of Redis or that of the
-- caller stepped, or the call was on its way for long. The caller finds out which, and calls again.

if not is_agreed then
  return redis.error_reply('CLOCK ' .. clock_reading())
end
