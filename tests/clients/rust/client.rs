//! The official SDK, rmcp: client stdio|stdio-2025|http|http-2025. ../langs.sh
//! says what the environment holds and what is printed.

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::*,
    service::{
        ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService,
    },
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Map, Value, from_str, json};
use std::{env, error::Error, process, time::Duration};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

type Fault = Box<dyn Error + Send + Sync>;
type Said = Result<String, Fault>;
type Session = RunningService<RoleClient, User>;
type Told = mpsc::UnboundedReceiver<String>;

const ME: &str = "rmcp";
const RESUME: &str = "Schritt 1 ist fertig: \u{1F980}\u{2028}\"\\\n\tNext: step 2.";

/// Answers questions, and tells what the client is told.
struct User {
    tasks: bool,
    tell: mpsc::UnboundedSender<String>,
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(ElicitationCapability::default());
        if self.tasks {
            can.extensions = Some([(TASKS_EXTENSION_ID.into(), Map::new())].into());
        }
        ClientConfig::new(can, Implementation::new(ME, "1"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"answer": "blue"})))
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.tell.send(params.uri);
    }
}

fn set(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn kind() -> String {
    env::args().nth(1).unwrap_or_default()
}

async fn dial(url: &str, token: Option<String>, tasks: bool) -> Result<Session, Fault> {
    Ok(dial_told(url, token, tasks).await?.0)
}

async fn dial_told(
    url: &str,
    token: Option<String>,
    tasks: bool,
) -> Result<(Session, Told), Fault> {
    let how = if kind().ends_with("-2025") {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        }
    };
    let (tell, told) = mpsc::unbounded_channel();
    let user = User { tasks, tell };
    if kind().starts_with("stdio") {
        let over = TokioChildProcess::new(tokio::process::Command::new(set("MCPTASK")))?;
        return Ok((user.serve_with_lifecycle(over, how).await?, told));
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    let over = StreamableHttpClientTransport::from_config(config);
    Ok((user.serve_with_lifecycle(over, how).await?, told))
}

fn request(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let object = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(tool).with_arguments(object)
}

/// Calls a tool: the text of the result, and whether it has isError.
async fn call(c: &Session, tool: &'static str, arguments: Value) -> Result<(String, bool), Fault> {
    let got = c.call_tool(request(tool, arguments)).await?;
    let text = got.content[0].as_text().ok_or("no text")?.text.clone();
    Ok((text, got.is_error == Some(true)))
}

/// Calls a tool that is to work, whose result is to have the field with the value.
async fn want(c: &Session, tool: &'static str, arguments: Value, field: &str, value: Value) -> Said {
    let (text, is_error) = call(c, tool, arguments).await?;
    let got: Value = from_str(&text)?;
    if is_error || got[field] != value {
        return Err(format!("{tool}: {field} is not {value} in {text}").into());
    }
    Ok(text)
}

/// The shell runs a command.
async fn sh(command: String) -> Said {
    let got = tokio::process::Command::new("sh").arg("-c").arg(&command).output().await?;
    if got.status.success() {
        return Ok(String::new());
    }
    Err(format!("{command}: {}", String::from_utf8_lossy(&got.stderr)).into())
}

/// Takes a step and prints its verdict.
async fn run(name: &str, step: impl Future<Output = Said>) -> Option<String> {
    let said = timeout(Duration::from_secs(60), step).await;
    let (verdict, detail) = match said.unwrap_or_else(|_| Err("took a minute".into())) {
        Ok(detail) => ("ok", detail),
        Err(e) => ("failed", format!("{e} {e:?}")),
    };
    let words: Vec<&str> = detail.split_whitespace().collect();
    let told = if detail.starts_with('{') { String::new() } else { words.join(" ") };
    println!("{name}\t{verdict}\t{told}");
    (verdict == "ok").then_some(detail)
}

async fn list(c: &Session) -> Said {
    let tools = c.list_all_tools().await?;
    if tools.len() != 11 || !tools.iter().any(|t| t.name == "claim_task") {
        return Err(format!("{} tools", tools.len()).into());
    }
    Ok(String::new())
}

async fn claim(c: &Session) -> Said {
    let text = want(c, "claim_task", json!({"task_id": "t"}), "claimed", json!(true)).await?;
    let got: Value = from_str(&text)?;
    match got["current_owner"].as_str() {
        Some(owner) if owner.starts_with("rmcp-") => Ok(format!("by {owner}")),
        _ => Err(text.into()),
    }
}

async fn read(c: &Session) -> Said {
    let got = c.read_resource(ReadResourceRequestParams::new("task://t")).await?;
    match &got.contents[0] {
        ResourceContents::TextResourceContents { text, .. } => has_title(text),
        other => Err(format!("{other:?}").into()),
    }
}

async fn prompt(c: &Session) -> Said {
    let got = c.get_prompt(GetPromptRequestParams::new("resume_task")).await?;
    has_title(&got.messages[0].content.as_text().ok_or("no text")?.text)
}

fn has_title(text: &str) -> Said {
    if text.contains("Try a client") { Ok(String::new()) } else { Err(text.into()) }
}

/// Waits until the client is told of a change that another process makes.
async fn is_told(c: &Session, told: &mut Told) -> Said {
    let filter = SubscriptionFilter::builder().resource_subscription("task://t").build();
    let mut listens = None;
    if kind().ends_with("-2025") {
        #[expect(deprecated)]
        c.subscribe(SubscribeRequestParams::new("task://t")).await?;
    } else {
        listens = Some(c.listen(filter).await?);
    }
    for _ in 0..10 {
        sh("\"$MCPTASK\" edit t --goal \"$(date +%N)\"".into()).await?;
        let next = async {
            match &mut listens {
                Some(listens) => Ok::<_, Fault>(format!("{:?}", listens.next().await?)),
                None => Ok(told.recv().await.unwrap_or_default()),
            }
        };
        match timeout(Duration::from_secs(1), next).await {
            Ok(uri) if uri.as_ref().is_ok_and(|u| u.contains("task://t")) => return Ok(String::new()),
            Ok(uri) => return Err(format!("told of {uri:?}").into()),
            Err(_) => (),
        }
    }
    Err("not told of a change".into())
}

async fn skill(c: &Session) -> Said {
    let all = c.list_skills(None).await?;
    let uri = &all.skills.first().ok_or("no skill")?.uri;
    c.get_skill(GetSkillRequestParams::new(uri.clone())).await?;
    Ok(uri.clone())
}

async fn error(c: &Session) -> Said {
    let (text, is_error) = call(c, "get_task", json!({"task_id": "none"})).await?;
    if !is_error || !text.contains("\"not_found\"") {
        return Err(format!("isError {is_error}: {text}").into());
    }
    Ok(String::new())
}

async fn question(c: &Session) -> Said {
    call(c, "claim_task", json!({"task_id": "t"})).await?;
    let asked = json!({"task_id": "t", "question": "Which colour?",
        "options": ["red", "blue"], "wait_seconds": 20});
    let text = want(c, "request_input", asked, "answered", json!(true)).await?;
    if !text.contains("\"blue\"") {
        return Err(text.into());
    }
    Ok("elicitation".into())
}

/// Waits for a task while the server is killed and started again, and then
/// somebody ends the task. What the SDK does not resume is called again, in the
/// same session if that still works.
async fn wait(c: &mut Session) -> Said {
    want(c, "create_task", json!({"task_id": "w", "title": "Wait"}), "status", json!("open")).await?;
    let happens = tokio::spawn(async {
        sleep(Duration::from_secs(2)).await;
        sh(set("RESTART")).await?;
        sleep(Duration::from_secs(5)).await;
        sh("\"$MCPTASK\" done w".into()).await
    });
    let arguments = json!({"task_id": "w", "until": "done", "wait_seconds": 20});
    let mut how = String::from("one call");
    let mut got = want(c, "wait_for_task", arguments.clone(), "met", json!(true)).await;
    if let Err(e) = got {
        how = format!("called again after \"{e}\"");
        sleep(Duration::from_secs(2)).await;
        got = want(c, "wait_for_task", arguments.clone(), "met", json!(true)).await;
    }
    if let Err(e) = got {
        how = format!("in a new session after \"{e}\"");
        *c = dial(&set("URL"), None, false).await?;
        want(c, "wait_for_task", arguments, "met", json!(true)).await?;
    }
    happens.await??;
    Ok(how)
}

async fn refused() -> Said {
    let e = match dial(&set("TOKEN_URL"), None, false).await {
        Ok(c) => list(&c).await.err().ok_or("connected without a token")?,
        Err(e) => e,
    };
    let said = format!("{e} {e:?}");
    if said.contains("401") || said.contains("uthorization required") || said.contains("AuthRequired") {
        return Ok(String::new());
    }
    Err(said.into())
}

async fn token() -> Said {
    let c = dial(&set("TOKEN_URL"), Some(set("TOKEN")), false).await?;
    want(&c, "create_task", json!({"title": "By a token"}), "agent", json!("carol")).await
}

/// A wait that becomes a task: its id.
async fn task_call(c: &Session, id: &str) -> Said {
    call(c, "create_task", json!({"task_id": id, "title": id})).await?;
    let waits = request("wait_for_task", json!({"task_id": id, "until": "done"}));
    match c.call_tool_once(waits).await? {
        CallToolResponse::Task(made) => Ok(made.task.task_id),
        other => Err(format!("not a task: {other:?}").into()),
    }
}

async fn task_is(c: &Session, id: &str, status: TaskStatus) -> Said {
    for _ in 0..20 {
        let got = c.get_task(GetTaskParams::new(id)).await?;
        match got.task.payload {
            TaskPayload::Completed { result } => return Ok(format!("has {}", Value::from(result))),
            _ if got.task.task.status == status => return Ok(String::new()),
            _ => sleep(Duration::from_millis(500)).await,
        }
    }
    Err(format!("{id} is not {status:?}").into())
}

async fn task_restart(c: &Session, id: &str) -> Said {
    sh(set("RESTART")).await?;
    task_is(c, id, TaskStatus::Working).await
}

async fn task_result(c: &Session, id: &str) -> Said {
    sh("\"$MCPTASK\" done k".into()).await?;
    let got = task_is(c, id, TaskStatus::Completed).await?;
    if got.contains("met\\\":true") { Ok("in tasks/get".into()) } else { Err(got.into()) }
}

async fn task_cancel(c: &Session) -> Said {
    let id = task_call(c, "l").await?;
    c.cancel_task(CancelTaskParams::new(id.clone())).await?;
    task_is(c, &id, TaskStatus::Cancelled).await
}

/// The steps with MCP Tasks as an extension of 2026-07-28.
async fn tasks() -> Option<()> {
    if kind().ends_with("-2025") {
        println!("tasks\tnone\tthe SDK has those of 2026-07-28 only");
        return None;
    }
    let c = dial(&set("URL"), None, true).await;
    let c = match c {
        Ok(c) => c,
        Err(e) => return run("tasks", async { Err(e) }).await.map(|_| ()),
    };
    let id = run("task-call", task_call(&c, "k")).await?;
    run("task-get", task_is(&c, &id, TaskStatus::Working)).await;
    println!("task-list\tnone\tthe extension has no tasks/list");
    if kind() == "http" {
        run("task-restart", task_restart(&c, &id)).await;
    }
    run("task-result", task_result(&c, &id)).await;
    run("task-cancel", task_cancel(&c)).await;
    Some(())
}

#[tokio::main]
async fn main() {
    let (mut c, mut told) = match dial_told(&set("URL"), None, false).await {
        Ok(c) => c,
        Err(e) => {
            run("connect", async { Err(e) }).await;
            process::exit(0);
        }
    };
    let t = json!({"task_id": "t"});
    let made = json!({"task_id": "t", "title": "Try a client"});
    let saved = json!({"task_id": "t", "resume_prompt": RESUME, "remaining_steps": ["step 2"]});
    let passed = json!({"task_id": "t", "reason": "end of the day"});
    let ended = json!({"task_id": "t", "status": "done"});
    run("connect", async { Ok(String::new()) }).await;
    run("list", list(&c)).await;
    run("create", want(&c, "create_task", made, "status", json!("open"))).await;
    run("claim", claim(&c)).await;
    run("checkpoint", want(&c, "save_checkpoint", saved, "status", json!("in_progress"))).await;
    run("handoff", want(&c, "handoff_task", passed, "status", json!("handoff_ready"))).await;
    run("get", want(&c, "get_task", t, "resume_prompt", json!(RESUME))).await;
    run("read", read(&c)).await;
    run("prompt", prompt(&c)).await;
    run("told", is_told(&c, &mut told)).await;
    if !kind().ends_with("-2025") {
        run("skill", skill(&c)).await;
    }
    run("error", error(&c)).await;
    run("question", question(&c)).await;
    run("wait", wait(&mut c)).await;
    run("after", want(&c, "update_task", ended, "status", json!("done"))).await;
    if kind().starts_with("http") {
        run("401", refused()).await;
        run("token", token()).await;
    }
    tasks().await;
    let _ = timeout(Duration::from_secs(5), c.cancel()).await;
}
