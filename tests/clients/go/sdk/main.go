// The official SDK: sdk stdio|stdio-2025|http|http-2025|sse
package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"clients/steps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const me = "go-sdk"

type client struct {
	*mcp.ClientSession
	told chan string
}

func (c client) Tools(ctx context.Context) (names []string, err error) {
	for tool, err := range c.ClientSession.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c client) Call(ctx context.Context, tool string, args steps.Args) (string, bool, error) {
	got, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", false, err
	}
	return got.Content[0].(*mcp.TextContent).Text, got.IsError, nil
}

func (c client) Read(ctx context.Context, uri string) (string, error) {
	got, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return got.Contents[0].Text, nil
}

func (c client) Prompt(ctx context.Context, name string) (string, error) {
	got, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
	if err != nil {
		return "", err
	}
	return got.Messages[0].Content.(*mcp.TextContent).Text, nil
}

func (c client) Watch(ctx context.Context, uri string) error {
	return c.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (c client) Told() <-chan string { return c.told }

func answer(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "blue"}}, nil
}

// bearer adds the token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func dial(ctx context.Context, url, token string) (steps.Client, error) {
	var over mcp.Transport
	options := &mcp.ClientSessionOptions{}
	web := &http.Client{Transport: bearer(token)}
	if strings.HasSuffix(os.Args[1], "-2025") {
		options.ProtocolVersion = "2025-11-25"
	}
	switch kind := os.Args[1]; {
	case strings.HasPrefix(kind, "stdio"):
		over = &mcp.CommandTransport{Command: exec.Command(os.Getenv("MCPTASK"))}
	case kind == "sse":
		over = &mcp.SSEClientTransport{Endpoint: url, HTTPClient: web}
	default:
		over = &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: web}
	}
	told := make(chan string, 100)
	c := mcp.NewClient(&mcp.Implementation{Name: me, Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: answer,
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			told <- r.Params.URI
		},
	})
	session, err := c.Connect(ctx, over, options)
	if err != nil {
		return nil, err
	}
	return client{session, told}, nil
}

func main() {
	steps.All(me, dial)
	steps.Run("tasks", func(context.Context) (string, error) {
		return "", steps.None("the SDK has no MCP Tasks")
	})
}
