//! Measures writes, lists and memory of a server in process.
//!
//! ```sh
//! cargo run --release -p embedded-apiserver --example speed [PODS]
//! ```

use std::error::Error;
use std::ops::Range;
use std::time::{Duration, Instant};

use bytes::Bytes;
use embedded_apiserver::{ApiServer, Builder};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::Service;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Clients that write at the same time.
const CLIENTS: usize = 2;
/// The part of a Pod's name that differs, of this length.
const SUFFIX: usize = 5;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let count = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 100_000_usize,
    };
    if count > 10_usize.pow(u32::try_from(SUFFIX)?) {
        return Err(format!("{count} Pods are too many: their names end with {SUFFIX} digits").into());
    }
    let mut server = Builder::default().build();

    let json = Template::json();
    let protobuf = Template::protobuf(&mut server, &json).await?;
    let some = count.min(20_000);
    json.create(&mut server, 0).await?; // the schema is read with the first request
    let stopwatch = Stopwatch::start()?;
    json.create_all(&mut server, 1..some).await?;
    report("create, JSON", stopwatch.stop(some - 1)?);
    let mut server = Builder::default().build();
    let stopwatch = Stopwatch::start()?;
    protobuf.create_all(&mut server, 0..some).await?;
    report("create, protobuf", stopwatch.stop(some)?);

    let server = Builder::default().build();
    let stopwatch = Stopwatch::start()?;
    json.create_by_clients(&server, CLIENTS, 0..some)?;
    report("create, JSON, 2 clients", stopwatch.stop(some)?);
    let mut server = Builder::default().build();
    protobuf.create(&mut server, 0).await?;
    let before = resident_bytes()?;
    let stopwatch = Stopwatch::start()?;
    protobuf.create_by_clients(&server, CLIENTS, 1..count)?;
    report("create, protobuf, 2 clients", stopwatch.stop(count - 1)?);
    let memory = resident_bytes()?.saturating_sub(before);

    let (bytes, took) = list(&mut server, PROTOBUF).await?;
    report("list, protobuf", format!("{} ms, {} MB", took.as_millis(), bytes / 1_000_000));
    let encoded = bytes / count;
    report(
        "memory of a Pod",
        format!("{encoded} bytes encoded + {}", (memory / count).saturating_sub(encoded)),
    );
    let (bytes, took) = list(&mut server, JSON).await?;
    report("list, JSON", format!("{} ms, {} MB", took.as_millis(), bytes / 1_000_000));

    let stopwatch = Stopwatch::start()?;
    let patches = count.min(20_000);
    for index in 0..patches {
        protobuf.label(&mut server, index).await?;
    }
    report("label (merge patch)", stopwatch.stop(patches)?);
    Ok(())
}

/// The body of a create request, with a place for the end of the name.
struct Template {
    media_type: &'static str,
    body: Vec<u8>,
    /// Offset of the last digits of the name.
    suffix: usize,
}

impl Template {
    /// A Pod of a Deployment as the scheduler sees it, about 1 kB of protobuf.
    fn json() -> Self {
        let name = format!("checkout-7d4b9c6f58-{}", "0".repeat(SUFFIX));
        let body = POD.replace("NAME", &name);
        let suffix = body.find(&name).unwrap_or_default() + name.len() - SUFFIX;
        Self { media_type: JSON, body: body.into_bytes(), suffix }
    }

    /// The same Pod in protobuf, as a dry run answers it, without the managed fields, which no client creates.
    async fn protobuf(server: &mut ApiServer, json: &Self) -> Result<Self> {
        let body = Bytes::from(json.body.clone());
        let (code, answer) =
            call(server, Method::POST, &format!("{PODS}?dryRun=All"), json.media_type, PROTOBUF, body)
                .await?;
        expect(code, StatusCode::CREATED, &answer)?;
        let pod = kube_protobuf::without_managed_fields(kube_protobuf::Unknown::parse(&answer)?.raw)?;
        let answer = kube_protobuf::wrap("v1", "Pod", &pod);
        let name = json.body.get(json.suffix - "checkout-7d4b9c6f58-".len()..json.suffix + SUFFIX);
        let found = name.and_then(|name| answer.windows(name.len()).position(|window| window == name));
        let suffix = found.ok_or("the answer has no name")? + "checkout-7d4b9c6f58-".len();
        Ok(Self { media_type: PROTOBUF, body: answer, suffix })
    }

    async fn create_all(&self, server: &mut ApiServer, indices: Range<usize>) -> Result<()> {
        for index in indices {
            self.create(server, index).await?;
        }
        Ok(())
    }

    /// Creates Pods from several threads, each with its own part of the names.
    fn create_by_clients(&self, server: &ApiServer, clients: usize, indices: Range<usize>) -> Result<()> {
        let part = indices.len().div_ceil(clients);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..clients)
                .map(|client| {
                    let first = indices.start + client * part;
                    let indices = first..(first + part).min(indices.end);
                    let mut server = server.clone();
                    scope.spawn(move || {
                        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
                        runtime.block_on(self.create_all(&mut server, indices))
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(outcome) => outcome,
                Err(_) => Err("a client panicked".into()),
            })
        })
    }

    async fn create(&self, server: &mut ApiServer, index: usize) -> Result<()> {
        let mut body = self.body.clone();
        let digits = format!("{index:0SUFFIX$}");
        let place = body.get_mut(self.suffix..self.suffix + SUFFIX).ok_or("the template is too short")?;
        place.copy_from_slice(digits.as_bytes());
        let (code, answer) =
            call(server, Method::POST, PODS, self.media_type, self.media_type, body.into()).await?;
        expect(code, StatusCode::CREATED, &answer)
    }

    async fn label(&self, server: &mut ApiServer, index: usize) -> Result<()> {
        let path = format!("{PODS}/checkout-7d4b9c6f58-{index:0SUFFIX$}");
        let patch = Bytes::from_static(br#"{"metadata":{"labels":{"canary":"true"}}}"#);
        let (code, answer) =
            call(server, Method::PATCH, &path, "application/merge-patch+json", self.media_type, patch)
                .await?;
        expect(code, StatusCode::OK, &answer)
    }
}

async fn call(
    server: &mut ApiServer,
    method: Method,
    path: &str,
    content_type: &str,
    accept: &str,
    body: Bytes,
) -> Result<(StatusCode, Bytes)> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, content_type)
        .header(ACCEPT, accept)
        .body(Full::new(body))?;
    let answer = server.call(request).await?;
    Ok((answer.status(), answer.into_body().collect().await?.to_bytes()))
}

/// Lists all Pods and returns the bytes and the time. Chunks are dropped as they come.
async fn list(server: &mut ApiServer, media_type: &str) -> Result<(usize, Duration)> {
    let started = Instant::now();
    let request = Request::get("/api/v1/pods").header(ACCEPT, media_type).body(Full::new(Bytes::new()))?;
    let mut body = server.call(request).await?.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok((bytes, started.elapsed()))
}

fn expect(code: StatusCode, expected: StatusCode, answer: &[u8]) -> Result<()> {
    if code == expected {
        return Ok(());
    }
    Err(format!("the server answered {code}: {}", String::from_utf8_lossy(answer)).into())
}

/// Memory of this process that is in RAM: the second number of statm, in pages of 4 KiB.
fn resident_bytes() -> Result<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).ok_or("/proc/self/statm has no second number")?.parse()?;
    Ok(pages * 4096)
}

/// Measures calls by the clock, and by the time of the processors, which other programs do not change much.
struct Stopwatch {
    started: Instant,
    used: Duration,
}

impl Stopwatch {
    fn start() -> Result<Self> {
        Ok(Self { started: Instant::now(), used: processor_time()? })
    }

    fn stop(self, calls: usize) -> Result<String> {
        let per_second = calls as u128 * 1_000_000_000 / self.started.elapsed().as_nanos().max(1);
        let each = processor_time()?.saturating_sub(self.used).as_micros() / calls.max(1) as u128;
        Ok(format!("{per_second} per second, {each} \u{b5}s of processor time each"))
    }
}

/// The time that this process has used: the fields `utime` and `stime` of stat, in ticks of 10 ms.
fn processor_time() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<std::result::Result<u64, _>>()?;
    Ok(Duration::from_millis(10 * ticks))
}

fn report(what: &str, figure: impl std::fmt::Display) {
    println!("{what:<28} {figure}");
}

const POD: &str = r#"{
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "NAME", "namespace": "default",
    "labels": {"app.kubernetes.io/name": "checkout", "app.kubernetes.io/part-of": "shop", "pod-template-hash": "7d4b9c6f58"},
    "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7d4b9c6f58",
      "uid": "0f5c1e9a-6d0b-4a53-9d53-3f7a3a6a8f10", "controller": true, "blockOwnerDeletion": true}]
  },
  "spec": {
    "nodeName": "node-0001",
    "serviceAccountName": "checkout",
    "containers": [{
      "name": "checkout", "image": "registry.example.com/shop/checkout:1.42.0",
      "args": ["--listen=:8080", "--metrics=:9090", "--log-format=json"],
      "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}],
      "env": [{"name": "REGION", "value": "eu-west-1"}, {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
      "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}},
      "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
      "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}]
    }],
    "volumes": [{"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}]}}],
    "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
  }
}"#;
