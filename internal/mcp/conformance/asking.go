//go:build mcpconformance

//nolint:staticcheck // the suite asks for what is deprecated by now, too
package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const moment = 50 * time.Millisecond

// addNotifying adds the tools that say something before they answer, and those
// that change what the server offers.
func addNotifying(server *sdk.Server) {
	add(server, "test_tool_with_progress", "Tells how far it is.", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			if token := req.Params.GetProgressToken(); token != nil {
				if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
					return nil, err
				}
			}
			time.Sleep(moment)
		}
		return said("done"), nil
	})
	logging := func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return nil, err
			}
			time.Sleep(moment)
		}
		return said("done"), nil
	}
	add(server, "test_tool_with_logging", "Logs while it works.", logging)
	add(server, "test_logging_tool", "Logs while it works.", logging)
	add(server, "test_trigger_tool_change", "Adds a tool and takes it away again.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add(server, "test_passing_tool", "Is there for a moment.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return said("here"), nil })
		server.RemoveTools("test_passing_tool")
		return said("changed"), nil
	})
	add(server, "test_trigger_prompt_change", "Adds a prompt and takes it away again.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		server.AddPrompt(&sdk.Prompt{Name: "test_passing_prompt", Description: "Is there for a moment."}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{}, nil
		})
		server.RemovePrompts("test_passing_prompt")
		return said("changed"), nil
	})
	add(server, "test_missing_capability", "Needs a client that can sample.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			return said("it can"), nil
		}
		data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "this needs sampling", Data: data}
	})
}

// form is the schema of what a person is asked for.
func form(properties string, required ...string) json.RawMessage {
	names, err := json.Marshal(append([]string{}, required...))
	if err != nil {
		panic(err)
	}
	return json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + string(names) + `}`)
}

// addAsking adds the tools that ask the client before they answer, as protocols
// before 2026-07-28 do it. A server without sessions can not: they are there so
// that the suite reports it, and the baseline names them.
func addAsking(server *sdk.Server) {
	ask := func(name, message, in string, schema json.RawMessage) {
		server.AddTool(&sdk.Tool{Name: name, Description: "Asks a person.", InputSchema: json.RawMessage(in)}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			answer, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: schema})
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errNoClient, err)
			}
			return said(fmt.Sprintf("Elicitation completed: action=%s, content=%v", answer.Action, answer.Content)), nil
		})
	}
	ask("test_elicitation", "Who are you?", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		form(`{"username":{"type":"string"},"email":{"type":"string"}}`, "username", "email"))
	ask("test_elicitation_sep1034_defaults", "Fill in the form.", string(noArguments), form(`{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`))
	ask("test_elicitation_sep1330_enums", "Choose.", string(noArguments), form(`{"one":{"type":"string","enum":["option1","option2","option3"]},
		"titled":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"}]},
		"many":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}}}`))
	server.AddTool(&sdk.Tool{Name: "test_sampling", Description: "Asks a model.", InputSchema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`)},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			answer, err := req.Session.CreateMessage(ctx, question("What is it?", 100))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errNoClient, err)
			}
			return said(fmt.Sprintf("LLM response: %v", answer.Content)), nil
		})
	add(server, "test_streaming_elicitation", "Asks in its result.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if _, ok := req.Params.InputResponses["user_name"].(*sdk.ElicitResult); ok {
			return said("thank you"), nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"user_name": askName("What is your name?")}}, nil
	})
}

func question(prompt string, tokens int64) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: tokens, Messages: []*sdk.SamplingMessage{{Role: "user", Content: text(prompt)}}}
}

func askName(message string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: form(`{"name":{"type":"string"}}`, "name")}
}

// seal signs states that clients carry around, so that they can not change them.
type seal []byte

func newSeal() seal {
	key := make(seal, 32)
	_, _ = rand.Read(key) // it never fails
	return key
}

func (s seal) sign(state string) string {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

// open is the state that was signed.
func (s seal) open(signed string) (string, error) {
	state, _, _ := strings.Cut(signed, ".")
	if !hmac.Equal([]byte(signed), []byte(s.sign(state))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state is not the one that was given"}
	}
	return state, nil
}

// filled are the fields of a form that somebody filled in; nil when nobody did.
func filled(responses sdk.InputResponseMap, key string, fields ...string) map[string]any {
	answer, ok := responses[key].(*sdk.ElicitResult)
	if !ok || answer.Action != "accept" {
		return nil
	}
	for _, field := range fields {
		if _, ok := answer.Content[field]; !ok {
			return nil
		}
	}
	return answer.Content
}

// needs is a result that asks for input instead of answering.
func needs(state string, requests sdk.InputRequestMap) *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}
}

// addInputRequired adds the tools and the prompt that ask for input as the newest
// protocol does it: in their result, to be called again with the answer.
func addInputRequired(server *sdk.Server) {
	sealed := newSeal()
	add(server, "test_input_required_result_elicitation", "Asks for a name.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if form := filled(req.Params.InputResponses, "user_name", "name"); form != nil {
			return said(fmt.Sprintf("Hello, %v!", form["name"])), nil
		}
		return needs("", sdk.InputRequestMap{"user_name": askName("What is your name?")}), nil
	})
	add(server, "test_input_required_result_sampling", "Asks a model.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if answer, ok := req.Params.InputResponses["capital_question"]; ok {
			return said("The model said: " + written(answer)), nil
		}
		return needs("", sdk.InputRequestMap{"capital_question": question("What is the capital of France?", 100)}), nil
	})
	add(server, "test_input_required_result_list_roots", "Asks for the roots.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if answer, ok := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
			return said("The roots are: " + written(answer)), nil
		}
		return needs("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}), nil
	})
	confirm := func(good string) handler {
		return func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if req.Params.RequestState != "" {
				if _, err := sealed.open(req.Params.RequestState); err != nil {
					return nil, err
				}
				if filled(req.Params.InputResponses, "confirm", "ok") != nil {
					return said(good), nil
				}
			}
			return needs(sealed.sign("asked"), sdk.InputRequestMap{"confirm": &sdk.ElicitParams{Message: "Please confirm", RequestedSchema: form(`{"ok":{"type":"boolean"}}`, "ok")}}), nil
		}
	}
	add(server, "test_input_required_result_request_state", "Keeps its state with the client.", confirm("state-ok"))
	add(server, "test_input_required_result_tampered_state", "Notices when its state was changed.", confirm("untouched"))
	add(server, "test_input_required_result_multiple_inputs", "Asks for three things at once.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if _, err := sealed.open(req.Params.RequestState); err == nil && len(req.Params.InputResponses) >= 3 {
			return said("All three were answered."), nil
		}
		return needs(sealed.sign("three"), sdk.InputRequestMap{"user_name": askName("What is your name?"), "greeting": question("Generate a greeting", 50), "client_roots": &sdk.ListRootsParams{}}), nil
	})
	add(server, "test_input_required_result_multi_round", "Asks twice.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		state, _ := sealed.open(req.Params.RequestState) // what is not ours begins anew
		if form := filled(req.Params.InputResponses, "step2", "color"); state == "second" && form != nil {
			return said(fmt.Sprintf("The color is %v.", form["color"])), nil
		}
		if filled(req.Params.InputResponses, "step1", "name") != nil || state == "second" {
			return needs(sealed.sign("second"), sdk.InputRequestMap{"step2": &sdk.ElicitParams{Message: "Step 2: What is your favorite color?", RequestedSchema: form(`{"color":{"type":"string"}}`, "color")}}), nil
		}
		return needs(sealed.sign("first"), sdk.InputRequestMap{"step1": askName("Step 1: What is your name?")}), nil
	})
	add(server, "test_input_required_result_capabilities", "Asks only for what the client can.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		requests := sdk.InputRequestMap{}
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			requests["greeting"] = question("Generate a greeting", 50)
		} else if c != nil && c.Elicitation != nil {
			requests["user_name"] = askName("What is your name?")
		}
		return needs("", requests), nil
	})
	server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "A fixture: a prompt that asks."}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if form := filled(req.Params.InputResponses, "user_context", "context"); form != nil {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: text(fmt.Sprintf("The context is %v.", form["context"]))}}}, nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": &sdk.ElicitParams{Message: "What context should the prompt use?",
			RequestedSchema: form(`{"context":{"type":"string"}}`, "context")}}}, nil
	})
}

func written(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
