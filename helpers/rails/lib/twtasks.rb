# frozen_string_literal: true

# twtasks as an adapter of ActiveJob: config.active_job.queue_adapter = :twtasks
#
# A job is added in the transaction that is open on ActiveRecord::Base.  The worker, whose handler in the file of twtasksd
# has types: ["rails|*"], is "bundle exec ruby -e 'require "twtasks"; Twtasks.work { require "./config/environment" }'".

require "active_job"
require "active_record"
require "json"

module ActiveJob
  module QueueAdapters
    class TwtasksAdapter < (const_defined?(:AbstractAdapter) ? AbstractAdapter : Object)
      ADD = "SELECT task_id FROM twtasks.add_tasks($1::text::jsonb)"

      # The job is part of the transaction, so it need not wait for the commit.
      def enqueue_after_transaction_commit?
        false
      end

      def enqueue(job)
        add(job)
      end

      def enqueue_at(job, timestamp)
        add(job, run_after: Time.at(timestamp).utc.iso8601(6))
      end

      private

      # In both, a lower number is more urgent.
      def add(job, **options)
        task = { type: "rails|#{job.class.name}", data: job.serialize, bucket: job.queue_name, **options }
        task[:priority] = job.priority.clamp(0, 9) if job.priority
        text = ActiveRecord::Relation::QueryAttribute.new("tasks", JSON.generate([task]), ActiveRecord::Type::Text.new)
        job.provider_job_id = ActiveRecord::Base.connection.exec_query(ADD, "twtasks", [text]).rows.first.first
      end
    end
  end
end

module Twtasks
  # Runs one job after the other, until its input ends.  After TERM it ends the job that runs, and no other.
  # A block loads the application: what it prints then goes to the log.
  def self.work
    worker = Worker.new($stdin)
    yield if block_given?
    worker.run
  end

  class Worker
    def initialize(input)
      @input = input.dup
      input.reopen(File::NULL) # a child reads no tasks
      @replies = $stdout.dup
      $stdout.reopen($stderr) # puts goes to the log
      @told, teller = IO.pipe
      trap("TERM") { teller.write_nonblock("T", exception: false) }
    end

    def run
      rest = String.new
      until told_to_end?(nil)
        rest << @input.readpartial(65_536)
        while (line = rest.slice!(/\A.*\n/))
          take(JSON.parse(line.force_encoding("UTF-8")))
        end
      end
    rescue EOFError
      nil
    end

    private

    # Waits for a line or for TERM; 0: does not wait.
    def told_to_end?(patience)
      ready, = IO.select([@told, @input].first(patience ? 1 : 2), nil, nil, patience)
      ready.to_a.include?(@told)
    end

    def take(task)
      return unless task["id"]
      return answer(task, result: "release", retry_in: 1) if told_to_end?(0)

      answer(task, started: true)
      answer(task, **outcome(task))
    end

    def outcome(task)
      job = task["data"]
      unless job.is_a?(Hash) && task["type"] == "rails|#{job["job_class"]}"
        return { result: "error", message: "the data are not of a job of this type" }
      end

      # perform_now counts this execution
      ActiveJob::Base.execute(job.merge("executions" => task["tries"] - 1, "provider_job_id" => task["id"]))
      { result: "done" }
    rescue StandardError, ScriptError, SystemExit => e
      text = e.full_message(highlight: false, order: :top)
      { result: "retry", message: text.encode("UTF-8", invalid: :replace, undef: :replace).scrub[0, 4000] }
    end

    def answer(task, **members)
      @replies.puts(JSON.generate(id: task["id"], version: task["version"], **members))
      @replies.flush
    end
  end
end
