//! `explain`: the pods of a Service, and the reasons for which they are or are not in its slices and Endpoints.

mod command;
mod output;
mod select;
mod summary;
mod table;
mod wait;
mod watch;
mod words;

use endpoint_diagnostics::ServiceReport;
use endpoint_diagnostics::report::Verdict;

use crate::cluster::Cluster;
use crate::exit::{self, Code, Failure};
use crate::frame::Command;
use crate::progress::Progress;
use crate::{files, page};
use command::Explanation;
use output::View;
use select::select;

pub(crate) use command::{NAME, Page, command, parse};
pub(crate) use summary::Summary;
pub(crate) use table::summary as summary_table;

/// Services that are shown with their pods, at most.
const DETAILED: usize = 12;

/// A text for each Service with its pods; one of rows if there are many.
pub(crate) fn details(reports: &[ServiceReport]) -> Vec<String> {
    if reports.len() > DETAILED {
        return vec![table::summary(reports, Summary::of(reports), false, true)];
    }
    reports.iter().map(|report| table::service(report, false, true)).collect()
}

impl Command for Explanation {
    /// Requests for the page are answered alongside changes.
    fn threads(&self) -> usize {
        if self.page.is_some() { 2 } else { 1 }
    }

    async fn run(self) -> Result<Code, Failure> {
        if let Some(listen) = self.page {
            return Box::pin(page::serve(&self.target, listen, NAME)).await.map(|()| Code::Done);
        }
        if self.watch {
            let cluster = Cluster::of(&self.target, NAME).await?;
            return watch::watch(&self, &cluster).await.map(|()| Code::Done);
        }
        let (reports, view) = (reports(&self).await?, View::of(&self));
        if reports.is_empty() && view.is_table() {
            // As kubectl: stdout has rows only.
            exit::note("No Services found");
        } else {
            exit::show(&output::text(&reports, view))?;
        }
        Ok(code(&reports))
    }
}

async fn reports(explanation: &Explanation) -> Result<Vec<ServiceReport>, Failure> {
    if !explanation.target.files.is_empty() {
        let snapshot = files::read(&explanation.target)?;
        return select(explanation, &snapshot, explanation.target.namespace.as_deref(), "the input");
    }
    let wait = explanation.wait();
    let _progress = Progress::start(if wait.is_some() { "Waiting" } else { "Reading the cluster" });
    let cluster = Cluster::of(&explanation.target, NAME).await?;
    if let Some(wait) = wait {
        return wait::wait(explanation, &cluster, wait).await;
    }
    let snapshot = cluster.read().await?;
    select(explanation, &snapshot, cluster.namespace.as_deref(), &cluster.server)
}

fn code(reports: &[ServiceReport]) -> Code {
    match reports.iter().map(|report| report.verdict).max() {
        None | Some(Verdict::Ok | Verdict::Lagging) => {
            // A late Service hides another one that is undecided.
            let is_undecided = reports.iter().any(|report| report.verdict == Verdict::Unknown);
            if is_undecided { Code::Undecided } else { Code::Done }
        }
        Some(Verdict::Unknown) => Code::Undecided,
        Some(Verdict::Wrong) => Code::Wrong,
    }
}
