package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"
)

// addJQ adds the flag --jq to a command that prints JSON of the service.
func (r *run) addJQ(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.jq, "jq", "", "print the results of a jq `expression` on the JSON")
}

// parseJQ compiles the expression of --jq.
func (r *run) parseJQ() error {
	if r.jq == "" {
		return nil
	}
	query, err := gojq.Parse(r.jq)
	if err == nil {
		r.jqCode, err = gojq.Compile(query)
	}
	if err != nil {
		return usage("The --jq expression is invalid: "+err.Error()+".", "See https://jqlang.org/manual/.")
	}
	return nil
}

// showJQ writes the results of the --jq expression as they are found: texts as they are, other values as
// JSON, each on a line.
func (r *run) showJQ(ctx context.Context, body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil // a delete
	}
	var input any
	if err := json.Unmarshal(body, &input); err != nil {
		return usage("The response is not JSON.", "Remove --jq to see it.")
	}
	r.bar.clear()
	out := bufio.NewWriter(r.Stdout)
	results := r.jqCode.RunWithContext(ctx, input)
	for {
		v, ok := results.Next()
		if !ok {
			return out.Flush()
		}
		line, err := r.resultOf(v)
		if err != nil {
			return errors.Join(out.Flush(), err)
		}
		if line == nil {
			return out.Flush()
		}
		// Fails if the reader has seen enough.
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

// resultOf returns a result as it is printed, or nil if the expression has ended.
func (r *run) resultOf(v any) ([]byte, error) {
	var halted *gojq.HaltError
	switch v := v.(type) {
	case error:
		if errors.As(v, &halted) && halted.ExitCode() == 0 {
			return nil, nil
		}
		if errors.Is(v, context.Canceled) {
			return nil, v
		}
		return nil, usage("The --jq expression failed: "+shortened(v.Error())+".",
			"Check the expression against the JSON that -o json prints.")
	case string:
		if r.StdoutTerminal {
			v = safeLines(v)
		}
		return []byte(v), nil
	}
	text, err := gojq.Marshal(v)
	return safeJSON(text), err
}

// shortened returns the beginning of a long text: an error of jq may contain all of the JSON.
func shortened(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
