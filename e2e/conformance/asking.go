//go:build mcpconformance

//nolint:staticcheck // the suite also tests deprecated features
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

// addNotifying adds tools that send notifications before their result, and tools that
// change the server's lists.
func addNotifying(server *sdk.Server) {
	add(server, "test_tool_with_progress", "Reports progress.", func(ctx context.Context, req *request) (*result, error) {
		for _, done := range []float64{0, 50, 100} {
			if token := req.Params.GetProgressToken(); token != nil {
				progress := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}
				if err := req.Session.NotifyProgress(ctx, progress); err != nil {
					return nil, err
				}
			}
			time.Sleep(moment)
		}
		return said("done"), nil
	})
	logging := func(ctx context.Context, req *request) (*result, error) {
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
	add(server, "test_trigger_tool_change", "Adds a tool and removes it.",
		func(context.Context, *request) (*result, error) {
			add(server, "test_passing_tool", "Exists briefly.",
				func(context.Context, *request) (*result, error) { return said("here"), nil })
			server.RemoveTools("test_passing_tool")
			return said("changed"), nil
		})
	add(server, "test_trigger_prompt_change", "Adds a prompt and removes it.",
		func(context.Context, *request) (*result, error) {
			server.AddPrompt(&sdk.Prompt{Name: "test_passing_prompt", Description: "Exists briefly."},
				func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
					return &sdk.GetPromptResult{}, nil
				})
			server.RemovePrompts("test_passing_prompt")
			return said("changed"), nil
		})
	add(server, "test_missing_capability", "Requires sampling.", func(_ context.Context, req *request) (*result, error) {
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			return said("supported"), nil
		}
		data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is required",
			Data: data}
	})
}

// form returns the schema of an elicitation form.
func form(properties string, required ...string) json.RawMessage {
	names, err := json.Marshal(append([]string{}, required...))
	if err != nil {
		panic(err)
	}
	return json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + string(names) + `}`)
}

// addAsking adds tools that send requests to the client, as in protocol versions before
// 2026-07-28. A stateless server cannot do that: the suite reports it, and the baseline
// lists it.
func addAsking(server *sdk.Server) {
	ask := func(name, message, in string, schema json.RawMessage) {
		server.AddTool(&sdk.Tool{Name: name, Description: "Asks the user.", InputSchema: json.RawMessage(in)},
			func(ctx context.Context, req *request) (*result, error) {
				answer, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: schema})
				if err != nil {
					return nil, fmt.Errorf("%w: %w", errNoClient, err)
				}
				return said(fmt.Sprintf("Elicitation completed: action=%s, content=%v", answer.Action, answer.Content)), nil
			})
	}
	ask("test_elicitation", "Who are you?",
		`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		form(`{"username":{"type":"string"},"email":{"type":"string"}}`, "username", "email"))
	ask("test_elicitation_sep1034_defaults", "Fill in the form.", string(noArguments), form(`{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`))
	ask("test_elicitation_sep1330_enums", "Choose.", string(noArguments), form(`{"one":{"type":"string","enum":["option1","option2","option3"]},
		"titled":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"}]},
		"many":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}}}`))
	server.AddTool(&sdk.Tool{Name: "test_sampling", Description: "Asks the model.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`)},
		func(ctx context.Context, req *request) (*result, error) {
			answer, err := req.Session.CreateMessage(ctx, question("What is it?", 100))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errNoClient, err)
			}
			return said(fmt.Sprintf("LLM response: %v", answer.Content)), nil
		})
	add(server, "test_streaming_elicitation", "Asks the user in its result.",
		func(_ context.Context, req *request) (*result, error) {
			if _, ok := req.Params.InputResponses["user_name"].(*sdk.ElicitResult); ok {
				return said("thank you"), nil
			}
			return &result{InputRequests: sdk.InputRequestMap{"user_name": askName("What is your name?")}}, nil
		})
}

func question(prompt string, tokens int64) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{
		MaxTokens: tokens,
		Messages:  []*sdk.SamplingMessage{{Role: "user", Content: text(prompt)}},
	}
}

func askName(message string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: form(`{"name":{"type":"string"}}`, "name")}
}

// seal signs state that clients store, so that they cannot change it.
type seal []byte

func newSeal() seal {
	key := make(seal, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

func (s seal) sign(state string) string {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

// open verifies the signature and returns the state.
func (s seal) open(signed string) (string, error) {
	state, _, _ := strings.Cut(signed, ".")
	if !hmac.Equal([]byte(signed), []byte(s.sign(state))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid request state"}
	}
	return state, nil
}

// filled returns the fields of an accepted form, or nil.
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

// needs returns a result that requests input.
func needs(state string, requests sdk.InputRequestMap) *result {
	return &result{InputRequests: requests, RequestState: state}
}

// addInputRequired adds tools and a prompt that request input in their result, as the
// newest protocol does. The client calls them again with the input.
func addInputRequired(server *sdk.Server) {
	sealed := newSeal()
	add(server, "test_input_required_result_elicitation", "Asks for a name.",
		func(_ context.Context, req *request) (*result, error) {
			if form := filled(req.Params.InputResponses, "user_name", "name"); form != nil {
				return said(fmt.Sprintf("Hello, %v!", form["name"])), nil
			}
			return needs("", sdk.InputRequestMap{"user_name": askName("What is your name?")}), nil
		})
	add(server, "test_input_required_result_sampling", "Asks the model.",
		func(_ context.Context, req *request) (*result, error) {
			if answer, ok := req.Params.InputResponses["capital_question"]; ok {
				return said("The model said: " + written(answer)), nil
			}
			return needs("", sdk.InputRequestMap{"capital_question": question("What is the capital of France?", 100)}), nil
		})
	add(server, "test_input_required_result_list_roots", "Asks for roots.",
		func(_ context.Context, req *request) (*result, error) {
			if answer, ok := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
				return said("The roots are: " + written(answer)), nil
			}
			return needs("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}), nil
		})
	confirm := func(good string) handler {
		return func(_ context.Context, req *request) (*result, error) {
			if req.Params.RequestState != "" {
				if _, err := sealed.open(req.Params.RequestState); err != nil {
					return nil, err
				}
				if filled(req.Params.InputResponses, "confirm", "ok") != nil {
					return said(good), nil
				}
			}
			return needs(sealed.sign("asked"), sdk.InputRequestMap{"confirm": &sdk.ElicitParams{Message: "Please confirm",
				RequestedSchema: form(`{"ok":{"type":"boolean"}}`, "ok")}}), nil
		}
	}
	add(server, "test_input_required_result_request_state", "Stores its state with the client.", confirm("state-ok"))
	add(server, "test_input_required_result_tampered_state", "Detects a changed state.", confirm("untouched"))
	add(server, "test_input_required_result_multiple_inputs", "Asks for three things at once.",
		func(_ context.Context, req *request) (*result, error) {
			if _, err := sealed.open(req.Params.RequestState); err == nil && len(req.Params.InputResponses) >= 3 {
				return said("All three were answered."), nil
			}
			return needs(sealed.sign("three"), sdk.InputRequestMap{"user_name": askName("What is your name?"),
				"greeting": question("Generate a greeting", 50), "client_roots": &sdk.ListRootsParams{}}), nil
		})
	add(server, "test_input_required_result_multi_round", "Asks twice.",
		func(_ context.Context, req *request) (*result, error) {
			state, _ := sealed.open(req.Params.RequestState) // invalid state starts over
			if form := filled(req.Params.InputResponses, "step2", "color"); state == "second" && form != nil {
				return said(fmt.Sprintf("The color is %v.", form["color"])), nil
			}
			if filled(req.Params.InputResponses, "step1", "name") != nil || state == "second" {
				return needs(sealed.sign("second"),
					sdk.InputRequestMap{"step2": &sdk.ElicitParams{Message: "Step 2: What is your favorite color?",
						RequestedSchema: form(`{"color":{"type":"string"}}`, "color")}}), nil
			}
			return needs(sealed.sign("first"), sdk.InputRequestMap{"step1": askName("Step 1: What is your name?")}), nil
		})
	add(server, "test_input_required_result_capabilities", "Asks only for what the client supports.",
		func(_ context.Context, req *request) (*result, error) {
			requests := sdk.InputRequestMap{}
			if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
				requests["greeting"] = question("Generate a greeting", 50)
			} else if c != nil && c.Elicitation != nil {
				requests["user_name"] = askName("What is your name?")
			}
			return needs("", requests), nil
		})
	server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "A fixture: a prompt that asks."},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			if form := filled(req.Params.InputResponses, "user_context", "context"); form != nil {
				return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user",
					Content: text(fmt.Sprintf("The context is %v.", form["context"]))}}}, nil
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
