package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"warranty.example/svc/api"
)

// message is the part of a message that is checked before the SDK sees it.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func (m message) wantsProgress() bool {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	return json.Unmarshal(m.Params, &params) == nil && params.Meta.Token != nil
}

// refusedMessage is the error of a message that is not passed to the SDK.
type refusedMessage struct {
	status, code int
	message      string
}

// parse parses one message as strictly as REST parses a body.
func parse(body []byte) (message, *refusedMessage) {
	refuse := func(code int, text string) (message, *refusedMessage) {
		return message{}, &refusedMessage{http.StatusBadRequest, code, text}
	}
	if batch := bytes.TrimLeft(body, " \t\r\n"); len(batch) > 0 && batch[0] == '[' {
		return refuse(jsonrpc.CodeInvalidRequest, "Batches are not supported. Send one message at a time.")
	}
	var m message
	err := api.ReadJSON(body, &m)
	if err != nil {
		var value json.RawMessage
		if api.ReadJSON(body, &value) != nil {
			return refuse(jsonrpc.CodeParseError,
				"The message is malformed. Send one valid JSON object in UTF-8, without duplicate names.")
		}
	}
	if err != nil || m.Version != "2.0" || m.Method == "" || m.ID != nil && !validID(m.ID) {
		return refuse(jsonrpc.CodeInvalidRequest,
			`Invalid message. Send "jsonrpc": "2.0", a method, and an id that is a string or an integer of at most 53 bits.`)
	}
	return m, nil
}

// validID reports whether an ID survives the SDK, which decodes numbers as float64.
func validID(id json.RawMessage) bool {
	text := strings.TrimSpace(string(id))
	if strings.HasPrefix(text, `"`) {
		return true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && -1<<53 <= n && n <= 1<<53
}
