//! Metrics that are computed at the scrape.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet};
use prometheus_client::metrics::MetricType;

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
