// mcp-go of mark3labs: mark3labs stdio|stdio-2025|http|http-2025|sse
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"clients/steps"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const me = "mcp-go"

// A call over SSE does not end with its stream, so it ends with lost.
type client struct {
	*mcpgo.Client
	lost context.Context
	told chan string
}

func (c client) Tools(ctx context.Context) (names []string, err error) {
	got, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range got.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c client) Call(ctx context.Context, tool string, args steps.Args) (string, bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.lost, func() { cancel(context.Cause(c.lost)) })()
	text, isError, err := text(c.CallTool(ctx, request(tool, args, nil)))
	if c.lost.Err() != nil {
		err = errors.Join(err, context.Cause(c.lost))
	}
	return text, isError, err
}

func (c client) Read(ctx context.Context, uri string) (string, error) {
	var r mcp.ReadResourceRequest
	r.Params.URI = uri
	got, err := c.ReadResource(ctx, r)
	if err != nil {
		return "", err
	}
	return got.Contents[0].(mcp.TextResourceContents).Text, nil
}

func (c client) Prompt(ctx context.Context, name string) (string, error) {
	var r mcp.GetPromptRequest
	r.Params.Name = name
	got, err := c.GetPrompt(ctx, r)
	if err != nil {
		return "", err
	}
	return got.Messages[0].Content.(mcp.TextContent).Text, nil
}

func (c client) Watch(ctx context.Context, uri string) error {
	if mcp.IsModernProtocol(c.ProtocolVersion()) {
		_, err := c.ListenAsync(context.Background(),
			mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, nil)
		return err
	}
	var r mcp.SubscribeRequest
	r.Params.URI = uri
	return c.Subscribe(ctx, r)
}

func (c client) Told() <-chan string { return c.told }

func request(tool string, args steps.Args, task *mcp.TaskParams) (r mcp.CallToolRequest) {
	r.Params.Name, r.Params.Arguments, r.Params.Task = tool, args, task
	return r
}

func text(got *mcp.CallToolResult, err error) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	return got.Content[0].(mcp.TextContent).Text, got.IsError, nil
}

// user answers questions.
type user struct{}

func (user) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: "accept", Content: steps.Args{"answer": "blue"}}}, nil
}

func dial(ctx context.Context, url, token string) (steps.Client, error) {
	var over transport.Interface
	var err error
	options := []mcpgo.ClientOption{mcpgo.WithElicitationHandler(user{})}
	headers := map[string]string{}
	if token != "" {
		headers["Authorization"] = "Bearer " + token
	}
	if strings.HasSuffix(os.Args[1], "-2025") {
		options = append(options, mcpgo.WithProtocolVersion("2025-11-25"))
	}
	switch kind := os.Args[1]; {
	case strings.HasPrefix(kind, "stdio"):
		over = transport.NewStdio(os.Getenv("MCPTASK"), nil)
	case kind == "sse":
		over, err = transport.NewSSE(url, transport.WithHeaders(headers))
	case strings.HasSuffix(kind, "-2025"):
		over, err = transport.NewStreamableHTTP(url, transport.WithHTTPHeaders(headers),
			transport.WithContinuousListening())
	default:
		over, err = transport.NewStreamableHTTP(url, transport.WithHTTPHeaders(headers))
	}
	if err != nil {
		return nil, err
	}
	c := mcpgo.NewClient(over, options...)
	lost, lose := context.WithCancelCause(context.Background())
	c.OnConnectionLost(func(err error) { lose(fmt.Errorf("OnConnectionLost: %w", err)) })
	told := make(chan string, 100)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == mcp.MethodNotificationResourceUpdated {
			told <- fmt.Sprint(n.Params.AdditionalFields["uri"])
		}
	})
	// SSE keeps this context for its stream, so it is not that of a step.
	if err := c.Start(context.Background()); err != nil {
		return nil, err
	}
	var r mcp.InitializeRequest
	r.Params.ClientInfo = mcp.Implementation{Name: me, Version: "1"}
	if _, err := c.Initialize(ctx, r); err != nil {
		c.Close()
		return nil, err
	}
	return client{c, lost, told}, nil
}

// tasks takes the steps with MCP Tasks of 2025-11-25.
func tasks() {
	ttl := int64(600000)
	dialed, err := dial(context.Background(), os.Getenv("URL"), "")
	if err != nil {
		steps.Run("tasks", func(context.Context) (string, error) { return "", err })
		return
	}
	c := dialed.(client)
	defer c.Close()
	if c.ProtocolVersion() > "2025-11-25" {
		steps.Run("tasks", func(context.Context) (string, error) {
			return "", steps.None("the SDK has those of 2025-11-25 only")
		})
		return
	}
	ids := map[string]string{}
	call := func(name, id string) {
		steps.Run(name, func(ctx context.Context) (string, error) {
			if _, err := steps.Tool(ctx, c, "create_task", steps.Args{"task_id": id, "title": id}); err != nil {
				return "", err
			}
			_, err := c.CallTool(ctx, request("wait_for_task",
				steps.Args{"task_id": id, "until": "done"}, &mcp.TaskParams{TTL: &ttl}))
			if err != nil && strings.Contains(err.Error(), "content is missing") {
				err = steps.Known("CallTool cannot return the task that was created: " + err.Error())
			}
			return "", err
		})
	}
	list := func(ctx context.Context) (string, error) {
		got, err := c.ListTasks(ctx, mcp.ListTasksRequest{})
		if err != nil {
			return "", err
		}
		for _, task := range got.Tasks {
			if task.Status == mcp.TaskStatusWorking && ids["first"] != task.TaskId {
				ids["first"], ids["second"] = task.TaskId, ids["first"]
			}
		}
		return fmt.Sprint(len(got.Tasks), " tasks"), nil
	}
	get := func(ctx context.Context, want mcp.TaskStatus) (string, error) {
		var r mcp.GetTaskRequest
		r.Params.TaskId = ids["first"]
		got, err := c.GetTask(ctx, r)
		if err == nil && got.Status != want {
			err = fmt.Errorf("the status is %s", got.Status)
		}
		return "", err
	}
	call("task-call", "k")
	steps.Run("task-list", list)
	steps.Run("task-get", func(ctx context.Context) (string, error) {
		return get(ctx, mcp.TaskStatusWorking)
	})
	if os.Getenv("URL") != "" {
		steps.Run("task-restart", func(ctx context.Context) (string, error) {
			if err := steps.Sh(os.Getenv("RESTART")); err != nil {
				return "", err
			}
			return get(ctx, mcp.TaskStatusWorking)
		})
	}
	steps.Run("task-result", func(ctx context.Context) (string, error) {
		if err := steps.Sh(`"$MCPTASK" done k`); err != nil {
			return "", err
		}
		var r mcp.TaskResultRequest
		r.Params.TaskId = ids["first"]
		got, err := c.TaskResult(ctx, r)
		if err != nil {
			return "", err
		}
		if len(got.Content) == 0 || !strings.Contains(fmt.Sprint(got.Content[0]), `"met":true`) {
			return "", fmt.Errorf("the result is %v", got)
		}
		return get(ctx, mcp.TaskStatusCompleted)
	})
	steps.Run("task-cancel", func(ctx context.Context) (string, error) {
		call("task-call", "l")
		if _, err := list(ctx); err != nil {
			return "", err
		}
		var r mcp.CancelTaskRequest
		r.Params.TaskId = ids["first"]
		got, err := c.CancelTask(ctx, r)
		if err == nil && got.Status != mcp.TaskStatusCancelled {
			err = errors.New("the status is " + string(got.Status))
		}
		return "", err
	})
}

func main() {
	steps.All(me, dial)
	tasks()
}
