//! The embedded API server over HTTPS, in this process.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Mutex;

use embedded_apiserver::{ApiServer, AuditEvent, Tls};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::credentials::User;

use super::servers::{AUTHORITY, CERTIFICATES, audit_log};

/// The server, and the task that serves it.
pub(super) struct EmbeddedServer {
    server: ApiServer,
    tls: Tls,
    port: u16,
    serving: Option<JoinHandle<()>>,
    /// The task that was told to stop; its port is free when it has ended.
    stopping: Option<JoinHandle<()>>,
}

impl EmbeddedServer {
    /// Starts the server. Its certificate and its audit log are files of the cluster's folder.
    pub(super) async fn start(folder: &Path, port: u16) -> Self {
        let log = OpenOptions::new().create(true).append(true).open(audit_log(folder)).expect("an audit log");
        let log = Mutex::new(log);
        // A control plane without controllers, as with the real servers.
        let mut builder = ApiServer::builder()
            .garbage_collection(false)
            .namespace_termination(false)
            .audit(move |event| write(&log, event));
        for user in User::ALL {
            builder = builder.token(user.token(), user.name());
        }
        let server = builder.build();
        let tls = Tls::for_loopback().expect("a certificate");
        std::fs::create_dir_all(folder.join(CERTIFICATES)).expect("a folder");
        std::fs::write(folder.join(CERTIFICATES).join(AUTHORITY), tls.certificate())
            .expect("writing a certificate");
        let mut started = Self { server, tls, port, serving: None, stopping: None };
        started.serve().await;
        started
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Cuts all connections and accepts no more; the objects stay.
    pub(super) fn stop(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.abort();
            self.stopping = Some(serving);
        }
    }

    /// Serves at the server's port.
    pub(super) async fn serve(&mut self) {
        assert!(self.serving.is_none(), "the API server runs already");
        if let Some(stopping) = self.stopping.take() {
            _ = stopping.await;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await.expect("a free port");
        let (server, tls) = (self.server.clone(), self.tls.clone());
        self.serving = Some(tokio::spawn(async move {
            server.serve(listener, Some(tls), std::future::pending()).await;
        }));
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Appends an event to the log as kube-apiserver does, with what its audit policy keeps.
fn write(log: &Mutex<File>, event: &AuditEvent) {
    let is_read = matches!(event.verb, "get" | "list" | "watch");
    if is_read && event.user == User::Admin.name() {
        return;
    }
    let mut line = json!({
        "stage": if event.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" },
        "verb": event.verb,
        "user": { "username": event.user },
        "userAgent": event.user_agent,
        "objectRef": { "resource": event.resource, "namespace": event.namespace, "name": event.name },
        "responseStatus": { "code": event.code },
        "requestObject": event.request_object,
        "requestReceivedTimestamp": event.received.to_string(),
        "stageTimestamp": event.answered.to_string(),
    });
    if !event.subresource.is_empty() {
        line["objectRef"]["subresource"] = Value::String(event.subresource.clone());
    }
    let mut file = log.lock().expect("the audit log");
    file.write_all(format!("{line}\n").as_bytes()).expect("writing the audit log");
}
