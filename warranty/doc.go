// Package warranty defines the domain: records, their rules, permissions, the
// inputs of every operation, and the error type.
//
// Read it first; every other package builds on it. It imports only the standard
// library and has no knowledge of HTTP, SQL or the command line.
package warranty
