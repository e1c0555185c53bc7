//! `hack/simulate`: runs histories, and shrinks and prints those that fail.

use std::process::ExitCode;

use clap::Parser;
use simulator::exhaustive::Cases;
use simulator::fault::Fault;
use simulator::history::run;
use simulator::plan::Plan;
use simulator::run::{Options, all_of, one};
use simulator::shrink::shrink;

/// Many small histories: memory goes back and forth.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs histories of a cluster with faults on virtual time.
#[derive(Parser)]
struct Arguments {
    /// The number of histories.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Threads; all cores by default.
    #[arg(long)]
    jobs: Option<usize>,
    /// End after the first failure.
    #[arg(long)]
    stop: bool,
    /// Do not shrink failing histories.
    #[arg(long)]
    no_shrink: bool,
    /// Print the trace of one history.
    #[arg(long)]
    trace: bool,
    /// Keep these entries of the timeline only, by number; `none` for none.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Leave these kinds of faults out.
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    #[arg(long)]
    replicas: Option<usize>,
    #[arg(long)]
    fronts: Option<usize>,
    /// With the feature gate `EndpointSliceCoalescing`.
    #[arg(long)]
    coalescing: bool,
    /// With a low rate of writes in each history, not only in a part of them.
    #[arg(long)]
    low_rate: bool,
    /// With kubelets that lose the API server instead of other faults.
    #[arg(long)]
    kubelets: bool,
    /// Audit the settled objects of each history: nothing but faults of users may be found. Without the faults by which
    /// other clients change objects of ours.
    #[arg(long)]
    audit: bool,
    /// Print the plan of the first seed and end.
    #[arg(long)]
    script: bool,
    /// Run each history twice, and fail if the two differ.
    #[arg(long)]
    twice: bool,
    /// In this many histories, check each fault that happened for whether it mattered: the history runs again without it.
    #[arg(long, default_value_t = 0)]
    mattered: u64,
    /// Run the short scenarios, with every crash, lost answer and order of events, instead of seeds.
    #[arg(long)]
    exhaustive: bool,
    /// One case of these, by number.
    #[arg(long, requires = "exhaustive")]
    case: Option<usize>,
}

impl Arguments {
    fn options(&self, seeds: u64) -> Options {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.unwrap_or_else(cores);
        let Self { from, stop, mattered, .. } = *self;
        Options { from, seeds, jobs, mattered, stop, progress: true }
    }

    /// The history of a seed.
    fn history(&self, seed: u64) -> Plan {
        let mut plan = if self.low_rate { Plan::with_low_rate(seed) } else { Plan::of(seed) };
        plan.setup.coalescing = self.coalescing;
        let plan = if self.kubelets { plan.with_lost_kubelets() } else { plan };
        if self.audit { plan.audited() } else { plan }
    }

    fn plan(&self) -> Plan {
        let mut plan = self.history(self.from);
        if !self.only.is_empty() {
            let numbers: Vec<usize> = self.only.iter().filter_map(|number| number.parse().ok()).collect();
            plan = plan.only(&numbers);
        }
        for name in &self.without {
            match Fault::named(name) {
                Some(fault) => plan = plan.without(fault),
                None => eprintln!("there is no fault {name}"),
            }
        }
        plan.setup.replicas = self.replicas.unwrap_or(plan.setup.replicas);
        plan.setup.fronts = self.fronts.unwrap_or(plan.setup.fronts);
        plan
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.exhaustive {
        return exhaustive(&arguments);
    }
    if arguments.script {
        println!("{}", arguments.plan().script());
        return ExitCode::SUCCESS;
    }
    if arguments.trace {
        return trace(&arguments.plan());
    }
    if arguments.twice {
        return twice(&arguments);
    }
    let report = all_of(&arguments.options(arguments.seeds), &|seed| arguments.history(seed));
    println!("{}", report.table());
    println!("{}", report.summary());
    for (seed, failures) in &report.failures {
        let first: Vec<&str> = failures.iter().take(3).map(String::as_str).collect();
        println!("seed {seed}: {} failures: {}", failures.len(), first.join("\n    "));
    }
    let Some(seed) = report.failures.keys().next() else { return ExitCode::SUCCESS };
    if !arguments.no_shrink {
        let (plan, outcome) = shrink(&arguments.history(*seed));
        println!("\n{}{}\n{}", plan.script(), outcome.failures.join("\n"), plan.command());
    }
    ExitCode::FAILURE
}

fn exhaustive(arguments: &Arguments) -> ExitCode {
    let cases = Cases::all();
    if let Some(number) = arguments.case {
        if number >= cases.count() {
            eprintln!("there is no case {number}: there are {}", cases.count());
            return ExitCode::FAILURE;
        }
        println!("{}", cases.describe(number));
        return trace(&cases.plan(number));
    }
    let number = |seed: u64| usize::try_from(seed).unwrap_or(usize::MAX);
    let left = (cases.count() as u64).saturating_sub(arguments.from);
    let report = all_of(&arguments.options(left), &|seed| cases.plan(number(seed)));
    println!("{}", cases.summary());
    println!("{}", report.summary());
    for (seed, failures) in &report.failures {
        println!("case {seed}: {}: {}", cases.describe(number(*seed)), failures.join("\n    "));
        println!("    hack/simulate --exhaustive --case {seed}");
    }
    if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn trace(plan: &Plan) -> ExitCode {
    println!("{}", plan.script());
    let outcome = run(plan, true);
    for line in &outcome.trace {
        println!("{line}");
    }
    println!("{:#?}", outcome.failures);
    if outcome.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn twice(arguments: &Arguments) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for seed in arguments.from..arguments.from + arguments.seeds {
        let plan = arguments.history(seed);
        let digests = [one(&plan).digest, one(&plan).digest];
        if digests[0] != digests[1] {
            println!("seed {seed} is not deterministic");
            code = ExitCode::FAILURE;
        }
    }
    code
}
