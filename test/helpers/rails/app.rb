# frozen_string_literal: true

# An application with the helper for Rails: TwTasks/Helper.pm says what it is told.

require "logger"
require "twtasks"

ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL"))
ActiveJob::Base.queue_adapter = :twtasks
ActiveJob::Base.logger = Logger.new($stderr, level: Logger::WARN)

class Order < ActiveRecord::Base
  self.primary_key = "name"
end

class Delivery < ActiveRecord::Base
end

module Shop
  class DeliverJob < ActiveJob::Base
    def perform(name)
      Delivery.insert!({ name: name, try: executions, pid: Process.pid })
      ActiveRecord::Base.connection.execute("SELECT pg_advisory_xact_lock_shared(1)")
      raise "stdin" if name == "child" && `readlink /proc/self/fd/0` != "/dev/null\n"
      if name == "noise"
        puts "noise of a handler"
        system("echo noise of a child", exception: true)
      end
      return unless name.start_with?("fail") && executions == 1

      raise NotImplementedError, "no van \xff" if name == "fail in bytes"
      raise name == "fail and quit" ? SystemExit : ArgumentError, "no van"
    end
  end
end

def order(name, **options)
  ActiveRecord::Base.transaction do
    Order.create!(name: name)
    Shop::DeliverJob.set(**options).perform_later(name)
    yield if block_given?
  end
end

word, *names = ARGV
ActiveJob::Base.queue_adapter = :inline if word == "test"
names.each do |name|
  case word
  when "add", "test" then order(name)
  when "rollback" then order(name) { raise ActiveRecord::Rollback }
  when "options" then order(name, priority: 2, wait_until: Time.utc(2100))
  else raise word
  end
end
Twtasks.work { puts "noise of a start" } if word == "work"
