package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the maximum size of a message over stdio.
const maxLine = 4 << 20

// drainTimeout is how long running calls may take after the input has ended.
const drainTimeout = 30 * time.Second

// ServeStdio serves an MCP server over a pair of streams until the input ends and every
// call is answered. It responds to invalid lines with an error; the SDK would stop.
func ServeStdio(ctx context.Context, server *Server, in io.Reader, out io.Writer) error {
	answers := &answerWriter{out: out, done: make(chan struct{}, 1)}
	messages, feed := io.Pipe()
	go func() {
		err := filter(in, feed, answers)
		// The SDK drops unanswered calls when its input ends.
		answers.wait(drainTimeout)
		feed.CloseWithError(err)
	}()
	err := server.Run(ctx, &sdk.IOTransport{Reader: messages, Writer: answers, MaxLineLength: -1})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// filter forwards valid messages and responds to invalid ones with an error.
func filter(in io.Reader, messages io.Writer, answers *answerWriter) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(lines)
		switch {
		case tooLong:
			refused := &refusedMessage{
				code:    jsonrpc.CodeInvalidRequest,
				message: "The message is larger than 4 MiB. Send a smaller one.",
			}
			if err := answers.refuse(refused); err != nil {
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
		return nil // this server never sends requests
	}
	m, refused := parse(line)
	_, err := jsonrpc.DecodeMessage(line)
	if refused == nil && err != nil {
		refused = &refusedMessage{code: jsonrpc.CodeInvalidRequest, message: "Invalid message: " + err.Error() + "."}
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

// readLine reads one line without its line ending. It discards a line that is too long.
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

// answerWriter serializes the messages that the SDK and filter write, and counts the
// calls without a response.
type answerWriter struct {
	mu   sync.Mutex
	out  io.Writer
	open int
	done chan struct{} // signaled when open becomes 0
}

// Write writes one message of the SDK.
func (w *answerWriter) Write(b []byte) (int, error) {
	out := plainly(b)
	w.mu.Lock()
	_, err := w.out.Write(out)
	w.mu.Unlock()
	if isAnswer(b) {
		w.expect(-1)
	}
	return len(b), err
}

// Close does nothing: the process owns the output.
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
		default: // already signaled
		}
	}
}

// wait returns when every call has a response, or after the timeout.
func (w *answerWriter) wait(timeout time.Duration) {
	expired := time.After(timeout)
	for {
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		if open <= 0 {
			return
		}
		select {
		case <-w.done:
		case <-expired:
			return
		}
	}
}
