package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the most that one message over stdio may have.
const maxLine = 4 << 20

// lastAnswers is how long the calls under way may take once the input has ended.
const lastAnswers = 30 * time.Second

// ServeStdio serves an MCP server over a pair of streams until the input ends and
// all of it is answered. A line that is no message is answered with an error and
// nothing else: the SDK alone would end the process.
func ServeStdio(ctx context.Context, server *sdk.Server, in io.Reader, out io.Writer) error {
	answers := &answerWriter{out: out, done: make(chan struct{}, 1)}
	messages, feed := io.Pipe()
	go func() {
		err := filter(in, feed, answers)
		// The SDK drops what it has not answered when its input ends.
		answers.wait(lastAnswers)
		feed.CloseWithError(err)
	}()
	err := server.Run(ctx, &sdk.IOTransport{Reader: messages, Writer: answers, MaxLineLength: -1})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// filter passes well-formed messages on and answers the rest.
func filter(in io.Reader, messages io.Writer, answers *answerWriter) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(lines)
		switch {
		case tooLong:
			if err := answers.refuse(&refusedMessage{code: jsonrpc.CodeInvalidRequest, message: "The message is longer than 4 MiB."}); err != nil {
				return err
			}
		case len(line) > 0:
			if err := pass(line, messages, answers); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

func pass(line []byte, messages io.Writer, answers *answerWriter) error {
	if isAnswer(line) {
		return nil // to a question that this server never asks
	}
	m, refused := parse(line)
	_, err := jsonrpc.DecodeMessage(line)
	if refused == nil && err != nil {
		refused = &refusedMessage{code: jsonrpc.CodeInvalidRequest, message: "The message can not be read: " + err.Error() + "."}
	}
	if refused != nil {
		return answers.refuse(refused)
	}
	if m.ID != nil {
		answers.expect(1)
	}
	_, err = messages.Write(append(line, '\n'))
	return err
}

func isAnswer(message []byte) bool {
	m, err := jsonrpc.DecodeMessage(message)
	answer, ok := m.(*jsonrpc.Response)
	return err == nil && ok && (answer.Result != nil || answer.Error != nil)
}

// readLine reads one line without its end; of one that is too long it keeps nothing.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			line, tooLong = nil, true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSpace(line), tooLong, err
	}
}

// answerWriter lets the SDK and the filter share one output, a message at a time,
// and counts the calls that have no answer yet.
type answerWriter struct {
	mu   sync.Mutex
	out  io.Writer
	open int
	done chan struct{} // told when open has become 0
}

// Write writes one message of the SDK.
func (w *answerWriter) Write(b []byte) (int, error) {
	message, err := jsonrpc.DecodeMessage(b)
	answer, ok := message.(*jsonrpc.Response)
	out := b
	if ok && err == nil {
		out = coded(b, answer)
	}
	w.mu.Lock()
	_, err = w.out.Write(out)
	w.mu.Unlock()
	if isAnswer(b) {
		w.expect(-1)
	}
	return len(b), err
}

// coded gives an error of the SDK a code that has none: what is refused before
// initialize never gets to the middleware that does this for the others. The
// protocol names no code for it, and -32002 meant a missing resource in older
// versions, so it is an invalid request.
func coded(message []byte, answer *jsonrpc.Response) []byte {
	var said *jsonrpc.Error
	if answer.Error == nil || errors.As(answer.Error, &said) && said.Code != 0 {
		return message
	}
	id, err := json.Marshal(answer.ID.Raw())
	if err != nil {
		return message
	}
	text := answer.Error.Error()
	if said != nil {
		text = said.Message
	}
	if strings.Contains(text, "session initialization") {
		text = "Send initialize first: " + text + "."
	}
	return append(encodeError(id, jsonrpc.CodeInvalidRequest, text, nil), '\n')
}

// Close leaves the output open: it is the process's.
func (w *answerWriter) Close() error { return nil }

func (w *answerWriter) refuse(r *refusedMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(append(encodeError(nil, r.code, r.message, nil), '\n'))
	return err
}

func (w *answerWriter) expect(answers int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open += answers
	if w.open == 0 {
		select {
		case w.done <- struct{}{}:
		default: // told already
		}
	}
}

// wait returns when every call is answered, or after a time.
func (w *answerWriter) wait(patience time.Duration) {
	late := time.After(patience)
	for {
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		if open <= 0 {
			return
		}
		select {
		case <-w.done:
		case <-late:
			return
		}
	}
}
