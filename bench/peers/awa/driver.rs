//! Driver of awa: see ../README.md for what the commands mean.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use awa::{
    Client, InsertOpts, InsertParams, JobArgs, JobError, JobResult, QueueConfig, QueueStorage,
    QueueStorageConfig, insert, migrations,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::signal::unix::{SignalKind, signal};

static FIRST: AtomicI64 = AtomicI64::new(0);
static HANDLED: AtomicI64 = AtomicI64::new(0);
static TRACE: OnceLock<File> = OnceLock::new();

type Failure = Box<dyn std::error::Error>;

/// The machine's monotonic clock, which the other programs write down, too.
fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn variable(name: &str, otherwise: &str) -> String {
    env::var(name).ok().filter(|v| !v.is_empty()).unwrap_or(otherwise.into())
}

fn started(kind: &str, i: i64) {
    let at = now();
    let _ = FIRST.compare_exchange(0, at, Relaxed, Relaxed);
    if let Some(mut trace) = TRACE.get() {
        let _ = trace.write_all(format!("{kind} {i} {at}\n").as_bytes());
    }
}

#[derive(Deserialize, JobArgs, Serialize)]
struct Noop {
    i: i64,
    p: String,
}

#[derive(Deserialize, JobArgs, Serialize)]
struct Chain {
    i: i64,
    left: i64,
    p: String,
}

async fn noop(job: Noop) -> Result<JobResult, JobError> {
    started("noop", job.i);
    HANDLED.fetch_add(1, Relaxed);
    Ok(JobResult::Completed)
}

async fn chain(job: Chain, pool: PgPool) -> Result<JobResult, JobError> {
    started("chain", job.i);
    if job.left > 0 {
        let next = Chain { left: job.left - 1, ..job };
        insert(&pool, &next).await.map_err(JobError::retryable)?;
    }
    HANDLED.fetch_add(1, Relaxed);
    Ok(JobResult::Completed)
}

async fn pool(connections: u32) -> Result<PgPool, sqlx::Error> {
    PgPoolOptions::new().max_connections(connections).connect_with(Default::default()).await
}

async fn report_progress() {
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let handled = HANDLED.load(Relaxed);
        if handled != before {
            before = handled;
            println!("{}", json!({"first": FIRST.load(Relaxed), "handled": handled, "at": now()}));
        }
    }
}

async fn serve() -> Result<(), Failure> {
    if let Ok(path) = env::var("BENCH_TRACE") {
        let _ = TRACE.set(OpenOptions::new().append(true).open(path)?);
    }
    let mut queue = QueueConfig::default();
    if variable("BENCH_SETTING", "best") == "best" {
        queue.max_workers = variable("BENCH_CONCURRENCY", "1024").parse()?;
        queue.claim_batch_size = 512;
        queue.deadline_duration = Duration::ZERO;
    }
    let pool = pool(20).await?;
    let adder = pool.clone();
    let client = Client::builder(pool)
        .queue("default", queue)
        .register::<Noop, _, _>(|job, _| noop(job))
        .register::<Chain, _, _>(move |job, _| chain(job, adder.clone()))
        .build()?;
    client.start().await?;
    println!("{}", json!({"ready": now()}));
    if env::var("BENCH_QUIET").is_err() {
        tokio::spawn(report_progress());
    }
    signal(SignalKind::terminate())?.recv().await;
    client.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

fn data(kind: &str, i: i64, size: usize) -> serde_json::Value {
    let p = "x".repeat(size.saturating_sub(format!("{{\"i\":{i},\"p\":\"\"}}").len()));
    if kind == "chain" {
        let depth: i64 = variable("BENCH_DEPTH", "100").parse().unwrap_or(100);
        json!({"i": i, "left": depth - 1, "p": p})
    } else {
        json!({"i": i, "p": p})
    }
}

fn job(kind: &str, i: i64, size: usize) -> InsertParams {
    InsertParams { kind: kind.into(), args: data(kind, i, size), opts: InsertOpts::default() }
}

async fn fill(pool: PgPool, kind: &str, tasks: i64, size: usize) -> Result<(), Failure> {
    let storage = QueueStorage::new(QueueStorageConfig::default())?;
    let begin = now();
    for from in (0..tasks).step_by(1000) {
        let jobs: Vec<_> = (from..tasks.min(from + 1000)).map(|i| job(kind, i, size)).collect();
        storage.enqueue_params_copy(&pool, &jobs).await?;
    }
    println!("{}", json!({"added": tasks, "seconds": (now() - begin) as f64 / 1e9}));
    Ok(())
}

fn noop_job(i: i64, size: usize) -> Noop {
    serde_json::from_value(data("noop", i, size)).expect("a job")
}

async fn enqueue(pool: PgPool, clients: usize, seconds: f64, size: usize) -> Result<(), Failure> {
    let begin = now();
    let until = begin + (seconds * 1e9) as i64;
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let mut added = 0;
                while now() < until {
                    insert(&pool, &noop_job(added, size)).await.expect("added");
                    added += 1;
                }
                added
            })
        })
        .collect();
    let mut added = 0;
    for client in clients {
        added += client.await?;
    }
    println!("{}", json!({"added": added, "seconds": (now() - begin) as f64 / 1e9}));
    Ok(())
}

/// The time at which a worker started task i.
fn start_of(trace: &mut impl BufRead, i: i64) -> Result<i64, Failure> {
    loop {
        let mut line = String::new();
        if trace.read_line(&mut line)? == 0 {
            return Err("the trace has ended".into());
        }
        let words: Vec<_> = line.split_whitespace().collect();
        if words.len() == 3 && words[0] == "noop" && words[1].parse::<i64>()? == i {
            return Ok(words[2].parse()?);
        }
    }
}

async fn latency(pool: PgPool, tasks: i64, seconds: f64, size: usize) -> Result<(), Failure> {
    let mut trace = BufReader::new(File::open(env::var("BENCH_TRACE")?)?);
    let until = now() + (seconds * 1e9) as i64;
    let (mut from_call, mut from_return) = (vec![], vec![]);
    for i in 0..tasks {
        let call = now();
        if call > until {
            break;
        }
        insert(&pool, &noop_job(i, size)).await?;
        let returned = now();
        let at = tokio::task::block_in_place(|| start_of(&mut trace, i))?;
        from_call.push(at - call);
        from_return.push(at - returned);
    }
    println!("{}", json!({"from_call_ns": from_call, "from_return_ns": from_return}));
    Ok(())
}

/// A worker of a new database chooses the storage; here, tasks come before it does.
async fn prepare() -> Result<(), Failure> {
    let pool = pool(2).await?;
    migrations::run(&pool).await?;
    for statement in [
        "SELECT awa.storage_auto_finalize_if_fresh('awa')",
        "CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL)",
        "INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i",
    ] {
        sqlx::query(statement).execute(&pool).await?;
    }
    Ok(())
}

async fn produce(words: &[String]) -> Result<(), Failure> {
    let clients = if words[1] == "enqueue" { words[2].parse()? } else { 1 };
    let pool = pool(clients).await?;
    match words[1].as_str() {
        "fill" => fill(pool, &words[2], words[3].parse()?, words[4].parse()?).await,
        "enqueue" => enqueue(pool, clients as usize, words[3].parse()?, words[4].parse()?).await,
        "latency" => latency(pool, words[2].parse()?, words[3].parse()?, words[4].parse()?).await,
        other => Err(format!("unknown command: {other}").into()),
    }
}

#[tokio::main]
async fn run() -> Result<(), Failure> {
    let words: Vec<String> = env::args().collect();
    match words[1].as_str() {
        "version" => Ok(println!("{}", json!({"version": "0.6.9"}))),
        "prepare" => prepare().await,
        "serve" => serve().await,
        _ => produce(&words).await,
    }
}

fn main() -> Result<(), Failure> {
    // No other thread runs yet.
    unsafe { env::set_var("AWA_COMPLETION_SHARDS", "2") };
    run()
}
