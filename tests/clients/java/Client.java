import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.GetPromptRequest;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceRequest;
import io.modelcontextprotocol.spec.McpSchema.SubscribeRequest;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The official SDK: Client stdio|http|sse. ../langs.sh says what the environment
 * holds and what is printed.
 */
class Client {
    static final String ME = "java-sdk";
    static final String RESUME =
        "Schritt 1 ist fertig: \uD83E\uDD80\u2028\"\\\n\tNext: step 2.";
    static String kind;
    static McpSyncClient c;
    static final BlockingQueue<String> told = new LinkedBlockingQueue<>();

    static String set(String name) {
        return System.getenv().getOrDefault(name, "");
    }

    static McpClientTransport over(String url, String token) {
        var request = HttpRequest.newBuilder();
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        int path = url.lastIndexOf('/');
        switch (kind) {
        case "stdio":
            return new StdioClientTransport(
                ServerParameters.builder(set("MCPTASK")).env(System.getenv()).build(),
                McpJsonDefaults.getMapper());
        case "sse":
            return HttpClientSseClientTransport.builder(url.substring(0, path))
                .sseEndpoint(url.substring(path)).requestBuilder(request).build();
        default:
            return HttpClientStreamableHttpTransport.builder(url.substring(0, path))
                .endpoint(url.substring(path)).requestBuilder(request).build();
        }
    }

    static McpSyncClient dial(String url, String token) {
        var client = McpClient.sync(over(url, token))
            .clientInfo(Implementation.builder(ME, "1").build())
            .requestTimeout(Duration.ofSeconds(25))
            .capabilities(ClientCapabilities.builder().elicitation().build())
            .elicitation(asked -> ElicitResult.builder(ElicitResult.Action.ACCEPT)
                .content(Map.of("answer", "blue")).build())
            .resourcesUpdateConsumer(all -> all.forEach(one -> told.add(one.uri())))
            .build();
        client.initialize();
        return client;
    }

    static CallToolResult call(McpSyncClient client, String tool, Map<String, Object> arguments) {
        return client.callTool(CallToolRequest.builder(tool).arguments(arguments).build());
    }

    static String text(CallToolResult result) {
        return ((TextContent) result.content().get(0)).text();
    }

    /** Calls a tool that is to work, whose result is to have the field with the value. */
    static Map<?, ?> want(McpSyncClient client, String tool, Map<String, Object> arguments,
            String field, Object value) throws Exception {
        var result = call(client, tool, arguments);
        var got = McpJsonDefaults.getMapper().readValue(text(result), Map.class);
        if (Boolean.TRUE.equals(result.isError()) || !value.equals(got.get(field))) {
            throw new Exception(tool + ": " + field + " is not " + value + " in " + text(result));
        }
        return got;
    }

    /** What is the client's fault. */
    static class Known extends Exception {
        Known(String reason) {
            super(reason);
        }
    }

    /** What the exceptions behind one say. */
    static String told(Throwable e) {
        while (e.getCause() != null && e.getMessage().startsWith(e.getCause().getClass().getName())) {
            e = e.getCause();
        }
        return e.getCause() == null ? e.toString() : e + ": " + told(e.getCause());
    }

    /** Takes a step, for at most a minute, and prints its verdict. */
    static void run(String name, Callable<String> step) {
        var verdict = "ok";
        String detail;
        try {
            detail = CompletableFuture.supplyAsync(() -> {
                try {
                    return step.call();
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }).get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            detail = told(e);
            verdict = detail.startsWith("Client$Known: ") ? "known" : "failed";
            detail = detail.replace("Client$Known: ", "");
        }
        System.out.println(name + "\t" + verdict + "\t" + detail.replaceAll("\\s+", " "));
    }

    static void runs(String name, String tool, Map<String, Object> arguments, String field,
            Object value) {
        run(name, () -> {
            want(c, tool, arguments, field, value);
            return "";
        });
    }

    static void sh(String command) throws Exception {
        int code = new ProcessBuilder("sh", "-c", command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT).start().waitFor();
        if (code != 0) {
            throw new Exception(command + ": exit code " + code);
        }
    }

    static String list(McpSyncClient client) throws Exception {
        var names = client.listTools().tools().stream().map(tool -> tool.name()).toList();
        if (names.size() != 11 || !names.contains("claim_task")) {
            throw new Exception("tools: " + names);
        }
        return "";
    }

    static String claim() throws Exception {
        var owner = String.valueOf(
            want(c, "claim_task", Map.of("task_id", "t"), "claimed", true).get("current_owner"));
        if (!owner.startsWith(ME + "-")) {
            throw new Exception("claimed by " + owner);
        }
        return "by " + owner;
    }

    static String hasTitle(String text) throws Exception {
        if (!text.contains("Try a client")) {
            throw new Exception("no title in " + text);
        }
        return "";
    }

    static String read() throws Exception {
        var got = c.readResource(ReadResourceRequest.builder("task://t").build());
        return hasTitle(((TextResourceContents) got.contents().get(0)).text());
    }

    static String prompt() throws Exception {
        var got = c.getPrompt(GetPromptRequest.builder("resume_task").build());
        return hasTitle(((TextContent) got.messages().get(0).content()).text());
    }

    /** Waits until the client is told of a change that another process makes. */
    static String isTold() throws Exception {
        c.subscribeResource(SubscribeRequest.builder("task://t").build());
        for (int i = 0; i < 10; i++) {
            sh("\"$MCPTASK\" edit t --goal \"$(date +%N)\"");
            var uri = told.poll(1, TimeUnit.SECONDS);
            if (uri != null && !uri.equals("task://t")) {
                throw new Exception("told of " + uri);
            }
            if (uri != null) {
                return "";
            }
        }
        throw new Exception("not told of a change");
    }

    static String error() throws Exception {
        var result = call(c, "get_task", Map.of("task_id", "none"));
        if (!Boolean.TRUE.equals(result.isError()) || !text(result).contains("\"not_found\"")) {
            throw new Exception("isError " + result.isError() + ": " + text(result));
        }
        return "";
    }

    static String question() throws Exception {
        call(c, "claim_task", Map.of("task_id", "t"));
        var got = want(c, "request_input", Map.of("task_id", "t", "question", "Which colour?",
            "options", List.of("red", "blue"), "wait_seconds", 20), "answered", true);
        if (!got.toString().contains("blue")) {
            throw new Exception("the answer: " + got);
        }
        return "elicitation";
    }

    /**
     * Waits for a task while the server is killed and started again, and then
     * somebody ends the task. What the SDK does not resume is called again, in
     * the same session if that still works.
     */
    static String await() throws Exception {
        want(c, "create_task", Map.of("task_id", "w", "title", "Wait"), "status", "open");
        var happens = CompletableFuture.runAsync(() -> {
            try {
                Thread.sleep(2000);
                sh(set("RESTART"));
                Thread.sleep(5000);
                sh("\"$MCPTASK\" done w");
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        });
        Map<String, Object> arguments =
            Map.of("task_id", "w", "until", "done", "wait_seconds", 20);
        var how = "one call";
        try {
            want(c, "wait_for_task", arguments, "met", true);
        } catch (Exception first) {
            how = "called again after " + told(first);
            Thread.sleep(2000);
            try {
                want(c, "wait_for_task", arguments, "met", true);
            } catch (Exception second) {
                how = "in a new session after " + told(second);
                c.close();
                c = dial(set("URL"), null);
                want(c, "wait_for_task", arguments, "met", true);
            }
        }
        happens.get();
        return how;
    }

    static String refused() throws Exception {
        String said;
        try (var client = dial(set("TOKEN_URL"), null)) {
            list(client);
            said = "connected without a token";
        } catch (Exception e) {
            said = told(e);
            if (said.contains("401") || said.contains("uthorization")) {
                return "";
            }
        }
        if (kind.equals("sse") && said.contains("TimeoutException")) {
            throw new Known("it reads the status only with an event, so a 401 ends with its time");
        }
        throw new Exception(said);
    }

    static String token() throws Exception {
        try (var client = dial(set("TOKEN_URL"), set("TOKEN"))) {
            want(client, "create_task", Map.of("title", "By a token"), "agent", "carol");
        }
        return "";
    }

    public static void main(String[] arguments) {
        kind = arguments[0];
        run("connect", () -> {
            c = dial(set("URL"), null);
            return c.getCurrentInitializationResult().protocolVersion();
        });
        if (c == null) {
            System.exit(0);
        }
        run("list", () -> list(c));
        runs("create", "create_task", Map.of("task_id", "t", "title", "Try a client"), "status", "open");
        run("claim", Client::claim);
        runs("checkpoint", "save_checkpoint", Map.of("task_id", "t", "resume_prompt", RESUME,
            "remaining_steps", List.of("step 2")), "status", "in_progress");
        runs("handoff", "handoff_task", Map.of("task_id", "t", "reason", "end of the day"),
            "status", "handoff_ready");
        runs("get", "get_task", Map.of("task_id", "t"), "resume_prompt", RESUME);
        run("read", Client::read);
        run("prompt", Client::prompt);
        run("told", Client::isTold);
        run("error", Client::error);
        run("question", Client::question);
        run("wait", Client::await);
        runs("after", "update_task", Map.of("task_id", "t", "status", "done"), "status", "done");
        if (!kind.equals("stdio")) {
            run("401", Client::refused);
            run("token", Client::token);
        }
        System.out.println("tasks\tnone\tthe SDK has no MCP Tasks");
        c.close();
        System.exit(0);
    }
}
