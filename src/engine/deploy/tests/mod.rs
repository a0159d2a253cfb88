//! Tables of the rules of a deploy. Each row stages one configuration after another with the real
//! planner, deploys it with the real store, and lists the calls that a provider in memory gets.

mod cancel;
mod configuration;
mod failures;
mod fake_provider;
mod leases;
mod links;
mod member_dependents;
mod modules;
mod order;
mod outputs;
mod provisioners;
mod records;
mod replacements;
mod retries;
mod rollout_requests;
mod rollouts;
mod rules;
mod world;
