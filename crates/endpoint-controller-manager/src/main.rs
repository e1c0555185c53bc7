//! `endpoint-controller-manager`: the endpoint controllers of kube-controller-manager in a process of their own.

mod build_metrics;
mod clients;
mod config;
mod configz;
mod connection;
mod controllers;
mod duration;
mod exposition;
mod gates;
mod health;
mod leading;
mod logging;
mod manager;
mod options;
mod process_metrics;
mod running;
mod runtimes;
mod serving;
mod signals;
mod strconv;
mod version;
mod watches;

use std::process::ExitCode;

fn main() -> ExitCode {
    match options::parse(std::env::args_os()) {
        options::Parsed::Run(config) => manager::main(*config),
        options::Parsed::Print(text) => options::print(&text),
        options::Parsed::Error(message) => options::print_error(&message),
    }
}
