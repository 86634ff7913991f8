// Package steps is what each client here does with mcptask, by an SDK of its
// own. ../../langs.sh says what the environment holds and what is printed.
package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A Client is a session of an SDK. Call returns the text of the result, and
// whether it has isError.
type Client interface {
	Tools(ctx context.Context) ([]string, error)
	Call(ctx context.Context, tool string, args Args) (string, bool, error)
	// Read returns the text of a resource, and Prompt that of a prompt.
	Read(ctx context.Context, uri string) (string, error)
	Prompt(ctx context.Context, name string) (string, error)
	// Watch subscribes to a resource, whose uri is then sent by Told.
	Watch(ctx context.Context, uri string) error
	Told() <-chan string
	Close() error
}

type Args = map[string]any

// A Dial connects to url, or for stdio starts the server if it is empty.
type Dial func(ctx context.Context, url, token string) (Client, error)

// A Step returns what is worth telling, besides that it worked.
type Step func(ctx context.Context) (string, error)

// Known is an error that is the client's fault, and None what it cannot do.
type (
	Known string
	None  string
)

func (k Known) Error() string { return string(k) }
func (n None) Error() string  { return string(n) }

const resume = "Schritt 1 ist fertig: \U0001F980\u2028\"\\\n\tNext: step 2."

// Run takes a step and prints its verdict.
func Run(name string, step Step) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	detail, err := step(ctx)
	verdict := "ok"
	if err != nil {
		verdict, detail = "failed", err.Error()
		var known Known
		var none None
		if errors.As(err, &known) {
			verdict = "known"
		} else if errors.As(err, &none) {
			verdict = "none"
		}
	}
	detail = strings.Join(strings.Fields(detail), " ")
	fmt.Printf("%s\t%s\t%s\n", name, verdict, detail)
}

// Sh runs a command of the shell.
func Sh(command string) error {
	said, err := exec.Command("sh", "-c", command).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, said)
	}
	return nil
}

// Tool calls a tool that is to work, and returns its result.
func Tool(ctx context.Context, c Client, tool string, args Args) (Args, error) {
	text, isError, err := c.Call(ctx, tool, args)
	if err != nil {
		return nil, err
	}
	if isError {
		return nil, fmt.Errorf("%s: %s", tool, text)
	}
	got := Args{}
	return got, json.Unmarshal([]byte(text), &got)
}

// Want calls a tool, whose result is to have the field with the value.
func Want(ctx context.Context, c Client, tool string, args Args, field string, value any) (string, error) {
	got, err := Tool(ctx, c, tool, args)
	if err == nil && got[field] != value {
		err = fmt.Errorf("%s: %s is %v, not %v", tool, field, got[field], value)
	}
	return "", err
}

func refused(err error) (string, error) {
	if err == nil {
		return "", errors.New("connected without a token")
	}
	for _, word := range []string{"401", "nauthorized", "uthorization required"} {
		if strings.Contains(err.Error(), word) {
			return "", nil
		}
	}
	return "", fmt.Errorf("not seen as a 401: %w", err)
}

// All takes the steps that do not depend on what the SDK knows of MCP Tasks.
func All(me string, dial Dial) {
	url := os.Getenv("URL")
	c, err := dial(context.Background(), url, "")
	Run("connect", func(context.Context) (string, error) { return "", err })
	if err != nil {
		return
	}
	want := func(name, tool string, args Args, field string, value any) {
		Run(name, func(ctx context.Context) (string, error) {
			return Want(ctx, c, tool, args, field, value)
		})
	}
	Run("list", func(ctx context.Context) (string, error) {
		names, err := c.Tools(ctx)
		if err == nil && (len(names) != 11 || !slices.Contains(names, "claim_task")) {
			err = fmt.Errorf("tools: %v", names)
		}
		return "", err
	})
	want("create", "create_task", Args{"task_id": "t", "title": "Try a client"}, "status", "open")
	Run("claim", func(ctx context.Context) (string, error) {
		got, err := Tool(ctx, c, "claim_task", Args{"task_id": "t"})
		owner, _ := got["current_owner"].(string)
		if err == nil && (got["claimed"] != true || !strings.HasPrefix(owner, me+"-")) {
			err = fmt.Errorf("claimed: %v, by %s", got["claimed"], owner)
		}
		return "by " + owner, err
	})
	want("checkpoint", "save_checkpoint", Args{"task_id": "t", "resume_prompt": resume,
		"remaining_steps": []string{"step 2"}}, "status", "in_progress")
	want("handoff", "handoff_task", Args{"task_id": "t", "reason": "end of the day"},
		"status", "handoff_ready")
	want("get", "get_task", Args{"task_id": "t"}, "resume_prompt", resume)
	Run("read", func(ctx context.Context) (string, error) {
		return hasTitle(c.Read(ctx, "task://t"))
	})
	Run("prompt", func(ctx context.Context) (string, error) {
		return hasTitle(c.Prompt(ctx, "resume_task"))
	})
	Run("told", func(ctx context.Context) (string, error) {
		return told(ctx, c)
	})
	Run("error", func(ctx context.Context) (string, error) {
		text, isError, err := c.Call(ctx, "get_task", Args{"task_id": "none"})
		if err == nil && (!isError || !strings.Contains(text, `"not_found"`)) {
			err = fmt.Errorf("isError %v: %s", isError, text)
		}
		return "", err
	})
	Run("question", func(ctx context.Context) (string, error) {
		if _, err := Tool(ctx, c, "claim_task", Args{"task_id": "t"}); err != nil {
			return "", err
		}
		got, err := Tool(ctx, c, "request_input", Args{"task_id": "t",
			"question": "Which colour?", "options": []string{"red", "blue"}, "wait_seconds": 20})
		if text := fmt.Sprint(got["answer"]); err == nil && !strings.Contains(text, "blue") {
			err = fmt.Errorf("the answer: %v", got)
		}
		return "elicitation", err
	})
	Run("wait", func(ctx context.Context) (string, error) {
		return wait(ctx, dial, &c)
	})
	Run("after", func(ctx context.Context) (string, error) {
		return Want(ctx, c, "update_task", Args{"task_id": "t", "status": "done"}, "status", "done")
	})
	c.Close()
	if url == "" {
		return
	}
	Run("401", func(ctx context.Context) (string, error) {
		c, err := dial(ctx, os.Getenv("TOKEN_URL"), "")
		if err == nil {
			_, err = c.Tools(ctx)
			c.Close()
		}
		return refused(err)
	})
	Run("token", func(ctx context.Context) (string, error) {
		c, err := dial(ctx, os.Getenv("TOKEN_URL"), os.Getenv("TOKEN"))
		if err != nil {
			return "", err
		}
		defer c.Close()
		return Want(ctx, c, "create_task", Args{"title": "By a token"}, "agent", "carol")
	})
}

func hasTitle(text string, err error) (string, error) {
	if err == nil && !strings.Contains(text, "Try a client") {
		err = fmt.Errorf("no title in %s", text)
	}
	return "", err
}

// told waits until the client is told of a change that another process makes.
func told(ctx context.Context, c Client) (string, error) {
	if err := c.Watch(ctx, "task://t"); err != nil {
		return "", err
	}
	for range 10 {
		if err := Sh(`"$MCPTASK" edit t --goal "$(date +%N)"`); err != nil {
			return "", err
		}
		select {
		case uri := <-c.Told():
			if uri != "task://t" {
				return "", fmt.Errorf("told of %s", uri)
			}
			return "", nil
		case <-time.After(time.Second):
		}
	}
	return "", errors.New("not told of a change")
}

// wait waits for a task while the server is killed and started again, and then
// somebody ends the task. What the SDK does not resume is called again, in the
// same session if that still works.
func wait(ctx context.Context, dial Dial, c *Client) (string, error) {
	if _, err := Tool(ctx, *c, "create_task", Args{"task_id": "w", "title": "Wait"}); err != nil {
		return "", err
	}
	happened := make(chan error, 1)
	go func() {
		time.Sleep(2 * time.Second)
		err := Sh(os.Getenv("RESTART"))
		time.Sleep(5 * time.Second)
		happened <- errors.Join(err, Sh(`"$MCPTASK" done w`))
	}()
	how := "one call"
	args := Args{"task_id": "w", "until": "done", "wait_seconds": 20}
	_, err := Want(ctx, *c, "wait_for_task", args, "met", true)
	if err != nil {
		how = fmt.Sprintf("called again after %q", err)
		time.Sleep(2 * time.Second)
		_, err = Want(ctx, *c, "wait_for_task", args, "met", true)
	}
	if err != nil {
		how = fmt.Sprintf("in a new session after %q", err)
		(*c).Close()
		var next Client
		// A stream may end with the context that it was opened in.
		if next, err = dial(context.Background(), os.Getenv("URL"), ""); err != nil {
			return how, err
		}
		*c = next
		_, err = Want(ctx, *c, "wait_for_task", args, "met", true)
	}
	return how, errors.Join(err, <-happened)
}
