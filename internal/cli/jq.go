package cli

import (
	"bytes"
	"encoding/json"

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

// showJQ writes the results of the --jq expression: texts as they are, other values as JSON, each on a
// line.
func (r *run) showJQ(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil // a delete
	}
	var input any
	if err := json.Unmarshal(body, &input); err != nil {
		return usage("The response is not JSON.", "Remove --jq to see it.")
	}
	var out bytes.Buffer
	results := r.jqCode.Run(input)
	for {
		v, ok := results.Next()
		if !ok {
			return r.write(out.Bytes())
		}
		switch v := v.(type) {
		case error:
			return usage("The --jq expression failed: "+v.Error()+".",
				"Check the expression against the JSON that -o json prints.")
		case string:
			if r.StdoutTerminal {
				v = safeLines(v)
			}
			out.WriteString(v)
		default:
			text, err := gojq.Marshal(v)
			if err != nil {
				return err
			}
			out.Write(safeJSON(text))
		}
		out.WriteByte('\n')
	}
}
