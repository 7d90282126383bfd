// Command s3server is an S3 server for the tests: versitygw with its file system
// backend only, because the whole program takes minutes to compile.
//
//	s3server ADDRESS FOLDER
//
// The keys of its only account are in ROOT_ACCESS_KEY and ROOT_SECRET_KEY. Every
// subfolder of FOLDER/buckets is a bucket.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "s3server:", err)
		os.Exit(1)
	}
}

const (
	region   = "us-east-1"
	maxParts = 10_000
	maxCopy  = 5 << 30
	// maxConnections is more than any test opens.
	maxConnections = 10_000
)

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: s3server ADDRESS FOLDER")
	}
	address, folder := os.Args[1], os.Args[2]
	buckets, metadata := filepath.Join(folder, "buckets"), filepath.Join(folder, "metadata")
	for _, path := range []string{buckets, metadata} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
	}
	// Metadata in files, because not every file system has extended attributes.
	sidecar, err := meta.NewSideCar(metadata)
	if err != nil {
		return err
	}
	backend, err := posix.New(buckets, sidecar, posix.PosixOpts{SideCarDir: metadata, CopyObjectThreshold: maxCopy})
	if err != nil {
		return err
	}
	access, secret := os.Getenv("ROOT_ACCESS_KEY"), os.Getenv("ROOT_SECRET_KEY")
	server, err := s3api.New(
		backend,
		middlewares.RootUserConfig{Access: access, Secret: secret},
		region,
		auth.NewIAMServiceSingle(auth.Account{Access: access, Secret: secret, Role: auth.RoleAdmin}),
		nil, nil, nil, nil,
		s3api.WithConcurrencyLimiter(maxConnections, maxConnections),
		s3api.WithMpMaxParts(maxParts),
		s3api.WithKeepAlive(),
		s3api.WithQuiet(),
		s3api.WithOnListen(func() { fmt.Println("ready to accept connections on", address) }),
	)
	if err != nil {
		return err
	}
	return server.ServeMultiPort([]string{address})
}
