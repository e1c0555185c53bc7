//! Metrics and events of disruptions, with the feature gate `EndpointsKeepReadyOnDisruption`.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use component_server::Routes;
use controller_kit::election::LeaseEvents;
use controller_kit::recorder::EventType;
use endpoint_informers::cache::{Cache, DisruptionReport};
use endpointslice::disruption::ScopeState;
use kube_api::computed::{self, encode_series, encode_value};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::config::Config;

/// Registers the metrics of disruptions, if the program makes a difference in them.
pub(crate) fn register(config: &Config, cache: &Arc<Cache>, registry: &mut Registry) {
    if config.disruption.is_some() {
        register_metrics(Arc::clone(cache), registry);
    }
}

/// Adds the disruptions to `/statusz`, while there are some.
pub(crate) fn show(config: &Config, cache: &Arc<Cache>, pages: Routes) -> Routes {
    if config.disruption.is_none() {
        return pages;
    }
    let cache = Arc::clone(cache);
    pages.state("Disruption", move || state(&cache.disruption_report()))
}

/// The scopes in which kubelets are lost, and the pods that are kept ready; nothing while there are neither.
fn state(report: &DisruptionReport) -> Option<String> {
    let disrupted = report.scopes.iter().filter(|scope| scope.period.is_ongoing()).map(lost);
    let disrupted: Vec<String> = disrupted.collect();
    if disrupted.is_empty() && report.kept_pods == 0 {
        return None;
    }
    let kept = format!("{} pods keep their readiness", report.kept_pods);
    Some(disrupted.into_iter().chain([kept]).collect::<Vec<_>>().join("; "))
}

fn lost(scope: &ScopeState) -> String {
    let ScopeState { zone, lost, total, .. } = scope;
    let of_zone = zone.as_ref().map(|zone| format!(" of zone {zone}")).unwrap_or_default();
    if *total == 0 {
        format!("last node{of_zone} is gone")
    } else {
        format!("kubelets of {lost} of {total} nodes{of_zone} are lost")
    }
}

/// They are read from the cache at the scrape.
fn register_metrics(cache: Arc<Cache>, registry: &mut Registry) {
    let gauges: [(&str, &str, fn(&ScopeState) -> usize); 3] = [
        ("kubelet_disruption", "1 while so many kubelets are lost that pods keep their readiness", |scope| {
            usize::from(scope.period.is_ongoing())
        }),
        ("kubelet_disruption_lost_nodes", "Nodes whose kubelets are lost, of those that count", |scope| {
            scope.lost
        }),
        (
            "kubelet_disruption_nodes",
            "Nodes that count: those that are ready, and those whose kubelets are lost",
            |scope| scope.total,
        ),
    ];
    computed::register(registry, move |encoder| {
        let DisruptionReport { scopes, kept_pods } = cache.disruption_report();
        for (name, help, value) in gauges {
            let zone = |scope: &ScopeState| scope.zone.as_deref().unwrap_or_default().to_owned();
            let series = scopes.iter().map(|scope| ([("zone", zone(scope))], value(scope)));
            encode_series(encoder, name, help, MetricType::Gauge, series)?;
        }
        let name = "kubelet_disruption_kept_pods";
        let help =
            "Pods that count as ready although the node lifecycle controller has marked them as not ready";
        encode_value(encoder, name, help, MetricType::Gauge, &kept_pods)
    });
}

/// The source of events about the Lease when disruptions begin and end.
pub(crate) struct DisruptionEvents {
    reports: watch::Receiver<DisruptionReport>,
    events: LeaseEvents,
}

impl DisruptionEvents {
    /// `None` if the program makes no difference in disruptions.
    pub(crate) fn new(config: &Config, cache: &Cache, events: LeaseEvents) -> Option<Self> {
        config.disruption.map(|_| Self { reports: cache.disruptions(), events })
    }

    /// Records an event for each scope in which a disruption has begun or ended since `before`. Returns what is now.
    fn record(&mut self, before: &[ScopeState]) -> Vec<ScopeState> {
        let report = self.reports.borrow_and_update().clone();
        for scope in report.changed_since(before) {
            let (event_type, reason, message) = event(&scope, report.kept_pods);
            self.events.event(event_type, reason, message);
        }
        report.scopes
    }
}

/// The event about a scope in which a disruption has begun or ended.
fn event(now: &ScopeState, kept_pods: usize) -> (EventType, &'static str, String) {
    let lost = format!("The {}", lost(now));
    if now.period.is_ongoing() {
        let kept = "pods that only the node lifecycle controller calls not ready keep their readiness";
        (EventType::Warning, "DisruptionBegins", format!("{lost}; {kept}"))
    } else {
        let kept =
            format!("{kept_pods} pods that no kubelet has reported on keep their readiness for a while");
        (EventType::Normal, "DisruptionEnds", format!("{lost}; {kept}"))
    }
}

/// Records events while this process leads. Never ends.
pub(crate) async fn report(events: Option<DisruptionEvents>) -> Infallible {
    let Some(mut events) = events else { return pending().await };
    let mut scopes = events.record(&[]);
    while events.reports.changed().await.is_ok() {
        scopes = events.record(&scopes);
    }
    pending().await
}

#[cfg(test)]
mod tests {
    use endpointslice::disruption::{Period, Policy};
    use endpointslice::model::{Kubelet, NodeFields};
    use endpointslice::{Interner, Node};

    use super::*;

    fn scope(period: Period) -> ScopeState {
        ScopeState { zone: Some("a".into()), period, lost: 9, total: 10 }
    }

    #[test]
    fn an_event_says_when_a_disruption_begins_and_ends() {
        let (ongoing, ended) = (Period::Ongoing, Period::Ended { at: 7 });
        let reasons = |last: Option<Period>, now: Option<Period>| -> Vec<&str> {
            let before: Vec<ScopeState> = last.into_iter().map(scope).collect();
            let report = DisruptionReport { scopes: now.into_iter().map(scope).collect(), kept_pods: 3 };
            report.changed_since(&before).iter().map(|scope| event(scope, 3).1).collect()
        };
        for (last, now, reason) in [
            (None, Some(ongoing), Some("DisruptionBegins")),
            (Some(ended), Some(ongoing), Some("DisruptionBegins")),
            (Some(ongoing), Some(ended), Some("DisruptionEnds")),
            (Some(ongoing), Some(Period::Calm), Some("DisruptionEnds")),
            (Some(ongoing), None, Some("DisruptionEnds")),
            (Some(ended), None, None),
            (None, Some(Period::Calm), None),
        ] {
            assert_eq!(reasons(last, now), Vec::from_iter(reason), "{last:?} to {now:?}");
        }
        let (_, _, message) = event(&scope(ongoing), 3);
        assert!(message.starts_with("The kubelets of 9 of 10 nodes of zone a are lost;"), "{message}");
    }

    #[test]
    fn statusz_has_a_line_while_pods_are_kept() {
        let report = |period, kept_pods| DisruptionReport { scopes: vec![scope(period)], kept_pods };
        let ongoing = state(&report(Period::Ongoing, 40));
        let line = "kubelets of 9 of 10 nodes of zone a are lost; 40 pods keep their readiness";
        assert_eq!(ongoing.as_deref(), Some(line));
        assert_eq!(
            state(&report(Period::Ended { at: 7 }, 2)).as_deref(),
            Some("2 pods keep their readiness")
        );
        assert_eq!(state(&report(Period::Ended { at: 7 }, 0)), None);
    }

    #[test]
    fn metrics_show_the_nodes_and_the_pods() {
        let cache = Arc::new(Cache::with_disruption_policy(Policy::default()));
        for name in ["a", "b", "c"] {
            let node = Node::new(&NodeFields { name, ..NodeFields::default() }, &mut Interner::default());
            cache.upsert(Node { kubelet: Kubelet::Lost { since: 7 }, ..node });
        }
        let mut registry = Registry::default();
        register_metrics(cache, &mut registry);
        let text = scripted_api::candidates::metrics(&registry);
        for line in [
            "kubelet_disruption{zone=\"\"} 1",
            "kubelet_disruption_lost_nodes{zone=\"\"} 3",
            "kubelet_disruption_nodes{zone=\"\"} 3",
            "kubelet_disruption_kept_pods 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
    }
}
