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

// message is what is looked at before the SDK gets it.
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

// refusedMessage is why a message never reaches the SDK.
type refusedMessage struct {
	status, code int
	message      string
}

// parse reads one message as strictly as REST reads a body.
func parse(body []byte) (message, *refusedMessage) {
	refuse := func(code int, text string) (message, *refusedMessage) {
		return message{}, &refusedMessage{http.StatusBadRequest, code, text}
	}
	if batch := bytes.TrimLeft(body, " \t\r\n"); len(batch) > 0 && batch[0] == '[' {
		return refuse(jsonrpc.CodeInvalidRequest, "Batches are not taken; send one message at a time.")
	}
	var value json.RawMessage
	if err := api.ReadJSON(body, &value); err != nil {
		return refuse(jsonrpc.CodeParseError, "The message is not one well-formed JSON object in UTF-8, with each name once.")
	}
	var m message
	if err := api.ReadJSON(body, &m); err != nil || m.Version != "2.0" || m.Method == "" || m.ID != nil && !validID(m.ID) {
		return refuse(jsonrpc.CodeInvalidRequest, `A message has "jsonrpc": "2.0", a method, and an id that is a text or a whole number of at most 53 bits.`)
	}
	return m, nil
}

// validID tells ids that come back as they were sent: to the SDK every number is
// a float64.
func validID(id json.RawMessage) bool {
	text := strings.TrimSpace(string(id))
	if strings.HasPrefix(text, `"`) {
		return true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && -1<<53 <= n && n <= 1<<53
}
