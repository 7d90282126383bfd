// Package warranty is the vocabulary of the service: its records, the rules
// that hold for them, who may do what, and the errors that refuse the rest.
//
// Read it first. It knows nothing of HTTP, SQL or the command line, uses the
// standard library alone, and every other package speaks in its words.
package warranty
