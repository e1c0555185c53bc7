//! tmp
use kube_protobuf::{PodView, Unknown};
fn main() {
    let pod = include_bytes!("../testdata/pod.pb");
    let n: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    for _ in 0..n { std::hint::black_box(PodView::parse(Unknown::parse(std::hint::black_box(pod)).unwrap().raw).unwrap()); }
}
