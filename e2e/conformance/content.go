//go:build mcpconformance

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// noArguments is the schema of a tool without arguments.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

type (
	request = sdk.CallToolRequest
	result  = sdk.CallToolResult
	handler func(context.Context, *request) (*result, error)
)

// add adds a tool without arguments.
func add(server *sdk.Server, name, description string, h handler) {
	server.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: noArguments}, sdk.ToolHandler(h))
}

func text(s string) *sdk.TextContent { return &sdk.TextContent{Text: s} }

// said returns a text result.
func said(s string) *result { return &result{Content: []sdk.Content{text(s)}} }

// pixel returns a PNG image of one red pixel.
func pixel() []byte {
	dot := image.NewRGBA(image.Rect(0, 0, 1, 1))
	dot.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, dot); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// silence returns a WAV file without samples.
func silence() []byte {
	return []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00")
}

func resource(uri, mediaType, body string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: mediaType, Text: body}}
}

// addContent adds tools that return each kind of content.
func addContent(server *sdk.Server) {
	picture := &sdk.ImageContent{Data: pixel(), MIMEType: "image/png"}
	for _, fixture := range []struct {
		name, description string
		content           []sdk.Content
	}{
		{"test_simple_text", "Returns text.", []sdk.Content{text("This is a simple text response for testing.")}},
		{"test_image_content", "Returns an image.", []sdk.Content{picture}},
		{"test_audio_content", "Returns audio.", []sdk.Content{&sdk.AudioContent{Data: silence(), MIMEType: "audio/wav"}}},
		{"test_embedded_resource", "Returns a resource.", []sdk.Content{resource("test://embedded-resource", "text/plain",
			"This is an embedded resource content.")}},
		{"test_multiple_content_types", "Returns several kinds of content.",
			[]sdk.Content{text("Multiple content types test:"), picture,
				resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)}},
	} {
		add(server, fixture.name, fixture.description, func(context.Context, *request) (*result, error) {
			return &result{Content: fixture.content}, nil
		})
	}
	add(server, "test_error_handling", "Always fails.", func(context.Context, *request) (*result, error) {
		r := said("This tool intentionally returns an error for testing")
		r.IsError = true
		return r, nil
	})
	server.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema with keywords of JSON Schema 2020-12.", InputSchema: json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]}}`)},
		func(context.Context, *request) (*result, error) { return said("taken"), nil })
	server.AddTool(&sdk.Tool{Name: "test_custom_header", Description: "Has an argument that is also a header.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(context.Context, *request) (*result, error) { return said("taken"), nil })
}

func addResources(server *sdk.Server) {
	static := func(uri, name, mediaType string, contents sdk.ResourceContents) {
		contents.URI, contents.MIMEType = uri, mediaType
		server.AddResource(&sdk.Resource{URI: uri, Name: name, Description: "A fixture: " + name + ".", MIMEType: mediaType},
			func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&contents}}, nil
			})
	}
	static("test://static-text", "static text", "text/plain",
		sdk.ResourceContents{Text: "This is the content of the static text resource."})
	static("test://static-binary", "static bytes", "image/png", sdk.ResourceContents{Blob: pixel()})
	static("test://watched-resource", "watched", "text/plain", sdk.ResourceContents{Text: "Nothing has changed."})
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template",
		Description: "A fixture: template.", MIMEType: "application/json"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			body, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json",
				Text: string(body)}}}, err
		})
}

func addPrompts(server *sdk.Server) {
	prompt := func(name string, arguments []string, messages func(map[string]string) []sdk.Content) {
		p := &sdk.Prompt{Name: name, Description: "A fixture: " + name + "."}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Description: "A fixture: " + a + ".", Required: true})
		}
		server.AddPrompt(p, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			result := &sdk.GetPromptResult{Description: p.Description}
			for _, content := range messages(req.Params.Arguments) {
				result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: content})
			}
			return result, nil
		})
	}
	prompt("test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{text("This is a simple prompt for testing.")}
	})
	prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{text("Prompt with arguments: arg1='" + a["arg1"] + "', arg2='" + a["arg2"] + "'")}
	})
	prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{resource(a["resourceUri"], "text/plain", "Embedded resource content for testing."),
			text("Please process the embedded resource above.")}
	})
	prompt("test_prompt_with_image", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{Data: pixel(), MIMEType: "image/png"}, text("Please analyze the image above.")}
	})
}

var errNoClient = errors.New("cannot send requests to the client")
