//! Metrics that are computed at the scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

/// Registers metrics that `encode` computes at each scrape, by [`encode_series`] and [`encode_value`].
pub fn register<F>(registry: &mut Registry, encode: F)
where
    F: Fn(&mut DescriptorEncoder<'_>) -> fmt::Result + Send + Sync + 'static,
{
    registry.register_collector(Box::new(Computed(encode)));
}

struct Computed<F>(F);

impl<F> fmt::Debug for Computed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computed")
    }
}

impl<F> Collector for Computed<F>
where
    F: Fn(&mut DescriptorEncoder<'_>) -> fmt::Result + Send + Sync + 'static,
{
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.0)(&mut encoder)
    }
}

/// Encodes a metric with a series for each of these sets of labels. The name of a counter is not changed, as that of a
/// [`PlainCounter`](crate::plain_counter::PlainCounter).
pub fn encode_series<L: EncodeLabelSet, V: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric_type: MetricType,
    series: impl IntoIterator<Item = (L, V)>,
) -> fmt::Result {
    let mut encoder = encoder.encode_descriptor(name, help, None, metric_type)?;
    for (labels, value) in series {
        encoder.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

/// Encodes a metric without labels. The name of a counter is not changed either.
pub fn encode_value<V: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric_type: MetricType,
    value: &V,
) -> fmt::Result {
    encoder.encode_descriptor(name, help, None, metric_type)?.encode_gauge(value)
}
