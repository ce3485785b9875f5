# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "twtasks"
  spec.version = "1.1.0"
  spec.summary = "An adapter of ActiveJob that adds jobs in your own transaction, in twtasks"
  spec.authors = ["twtasks contributors"]
  spec.license = "PostgreSQL"
  spec.files = ["lib/twtasks.rb"]
  spec.required_ruby_version = ">= 2.7"
  spec.add_dependency "activejob", ">= 6.1"
  spec.add_dependency "activerecord", ">= 6.1"
  spec.add_dependency "pg", ">= 1.1"
end
