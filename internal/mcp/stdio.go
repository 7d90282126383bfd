package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the most that one message over stdio may have.
const maxLine = 4 << 20

// ServeStdio serves an MCP server over a pair of streams until the input ends. A
// line that is no message is answered with an error and nothing else: the SDK
// alone would end the process.
func ServeStdio(ctx context.Context, server *sdk.Server, in io.Reader, out io.Writer) error {
	writer := &lockedWriter{out: out}
	messages, feed := io.Pipe()
	go func() { feed.CloseWithError(filter(in, feed, writer)) }()
	err := server.Run(ctx, &sdk.IOTransport{Reader: messages, Writer: writer, MaxLineLength: -1})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// filter passes well-formed messages on and answers the rest.
func filter(in io.Reader, messages io.Writer, answers io.Writer) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(lines)
		switch {
		case tooLong:
			if err := say(answers, jsonrpc.CodeInvalidRequest, "The message is longer than 4 MiB."); err != nil {
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

func pass(line []byte, messages, answers io.Writer) error {
	if line[0] == '[' {
		return say(answers, jsonrpc.CodeInvalidRequest, "Batches are not taken; send one message a line.")
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return say(answers, jsonrpc.CodeParseError, "The line is not a JSON-RPC 2.0 message.")
	}
	_, err := messages.Write(append(line, '\n'))
	return err
}

func say(answers io.Writer, code int, message string) error {
	_, err := answers.Write(append(encodeError(nil, code, message, nil), '\n'))
	return err
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

// lockedWriter lets the SDK and the filter share one output, a message at a time.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

// Write writes one message.
func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

// Close leaves the output open: it is the process's.
func (w *lockedWriter) Close() error { return nil }
