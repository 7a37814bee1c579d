-- Refuses to run on another store than the caller knows.

if redis.call('GET', PREFIX .. 'epoch') ~= ARGV[1] then
  return emptied_error()
end
