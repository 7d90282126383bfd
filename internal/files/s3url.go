package files

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"warranty.example/svc/internal/netaddr"
)

// S3 is where a Bucket is and how to reach it. Its String hides the keys.
type S3 struct {
	bucket, prefix string // the prefix has no slash at either end
	host           string // host[:port] of the server
	secure         bool   // TLS
	region         string
	lookup         minio.BucketLookupType
	iam            bool   // the keys are those of the machine's role
	access, secret string // empty: from the environment
}

// amazon is the server if the URL names no endpoint.
const amazon = "s3.amazonaws.com"

// Errors of ParseS3 never contain the URL, which can include a secret key.
var (
	errScheme = errors.New("must start with s3://; a folder is set with --data")
	errParams = errors.New("has an unknown parameter; it takes endpoint, region, tls, path-style and credentials, each once")
)

// ParseS3 parses s3://bucket/prefix with the parameters endpoint, region, tls, path-style
// and credentials.
func ParseS3(raw string) (*S3, error) {
	if !strings.HasPrefix(raw, "s3://") {
		return nil, errScheme
	}
	u, err := url.Parse(raw)
	if err != nil || strings.Contains(raw, "#") {
		return nil, netaddr.ErrURL
	}
	s := &S3{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), host: amazon, secure: true}
	if s3utils.CheckValidBucketNameStrict(s.bucket) != nil {
		return nil, errors.New("has an invalid bucket; names have 3 to 63 lower-case letters, digits, dots and hyphens")
	}
	if !isPrefix(s.prefix) {
		return nil, errors.New("has an invalid prefix; use letters, digits, dots, hyphens, underscores and single slashes")
	}
	if u.User != nil {
		var given bool
		s.access = u.User.Username()
		if s.secret, given = u.User.Password(); !given || s.access == "" || s.secret == "" {
			return nil, errors.New("must have both keys before the @, or none: s3://access:secret@bucket")
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errParams
	}
	return s, s.set(query)
}

// isPrefix reports whether a prefix names folders that every server and file system
// takes.
func isPrefix(prefix string) bool {
	for name := range strings.SplitSeq(prefix, "/") {
		if prefix != "" && (name == "" || name == "." || name == "..") ||
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			return false
		}
	}
	return len(prefix) <= 500
}

// set reads the parameters.
func (s *S3) set(query url.Values) error {
	known := []string{"endpoint", "region", "tls", "path-style", "credentials"}
	for name, values := range query {
		if len(values) != 1 || !slices.Contains(known, name) {
			return errParams
		}
	}
	var err error
	if query.Has("endpoint") {
		err = s.setEndpoint(query.Get("endpoint"), query.Get("tls") == "off")
	}
	s.region = query.Get("region")
	switch {
	case err != nil:
		return err
	case query.Has("tls") && (query.Get("tls") != "off" || s.secure):
		return errors.New("has an invalid tls parameter; only tls=off with an http:// endpoint is possible")
	case strings.Trim(s.region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || query.Has("region") && s.region == "":
		return errors.New("has an invalid region, such as eu-central-1")
	}
	switch query.Get("path-style") {
	case "on":
		s.lookup = minio.BucketLookupPath
	case "off":
		s.lookup = minio.BucketLookupDNS
	default:
		if query.Has("path-style") {
			return errors.New("has an invalid path-style parameter; it is on or off")
		}
	}
	if query.Has("credentials") {
		if s.iam = query.Get("credentials") == "iam"; !s.iam || s.access != "" {
			return errors.New("has an invalid credentials parameter; only credentials=iam without keys is possible")
		}
	}
	return nil
}

// setEndpoint accepts http:// on loopback, and elsewhere if TLS is turned off explicitly,
// because documents are confidential.
func (s *S3) setEndpoint(raw string, plain bool) error {
	u, err := netaddr.ParseURL(raw, "https", "http")
	if err != nil || u.User != nil || strings.Trim(u.Path, "/") != "" || strings.ContainsAny(raw, "?#") {
		return errors.New("has an invalid endpoint; write https://host:port, without user and path")
	}
	if s.host, s.secure = u.Host, u.Scheme == "https"; !s.secure && !plain && !netaddr.IsLoopback(u.Hostname()) {
		return errors.New("has an endpoint without TLS; use https://, or add tls=off if the network is trusted")
	}
	return nil
}

// String returns the URL without keys and parameters.
func (s *S3) String() string { return strings.TrimSuffix("s3://"+s.bucket+"/"+s.prefix, "/") }

// GoString is String, for %#v.
func (s *S3) GoString() string { return s.String() }

// credentials returns the keys, from the URL, the machine's role or the environment.
func (s *S3) credentials() (*credentials.Credentials, error) {
	switch {
	case s.access != "":
		return credentials.NewStaticV4(s.access, s.secret, ""), nil
	case s.iam:
		return credentials.NewIAM(""), nil
	}
	access, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if access == "" || secret == "" {
		return nil, RemoteError{Setting: true, Reason: "no keys for S3: set AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY, or add credentials=iam to use the machine's role"}
	}
	return credentials.NewStaticV4(access, secret, os.Getenv("AWS_SESSION_TOKEN")), nil
}

// regionOr returns the region of the URL, else of the environment, else the one that most
// servers other than Amazon's use. For Amazon it may be empty: then the bucket is asked.
func (s *S3) regionOr() string {
	for _, region := range []string{s.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")} {
		if region != "" {
			return region
		}
	}
	if s.host == amazon {
		return ""
	}
	return "us-east-1"
}
