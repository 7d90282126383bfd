package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
)

// RemoteError reports that S3 rejected a request or did not answer it. Reason names no
// key and no secret. Setting means that only the operator can fix it.
type RemoteError struct {
	Reason  string
	Setting bool
}

// Error returns the reason.
func (e RemoteError) Error() string { return e.Reason }

// errStalled ends a transfer that makes no progress.
var errStalled = errors.New("no data was received for too long")

const unknownKey = "S3 does not know the access key; check AWS_ACCESS_KEY_ID, or the keys in the s3:// URL"

// settingErrors are the S3 error codes that an operator has to fix.
var settingErrors = map[string]string{
	minio.InvalidAccessKeyID: unknownKey,
	"XAdminUserNotFound":     unknownKey, // of versitygw
	minio.SignatureDoesNotMatch: "S3 rejects the secret key; check AWS_SECRET_ACCESS_KEY, or the keys in the s3:// URL " +
		"(write special characters as %xx)",
	minio.AccessDenied: "S3 denies access; the keys need the right to list the bucket, and to read, write and " +
		"delete objects and multipart uploads",
	minio.NoSuchBucket:         "the bucket does not exist; create it, or check its name in the s3:// URL",
	minio.RequestTimeTooSkewed: "the clock of this machine differs too much from that of S3; set the clock",
	minio.NotImplemented:       "the S3 server lacks a feature that is needed, such as If-None-Match in uploads",

	minio.AuthorizationHeaderMalformed: "S3 rejects the region; add region=NAME to the s3:// URL",
	minio.InvalidRegion:                "S3 rejects the region; add region=NAME to the s3:// URL",
	"PermanentRedirect":                "the bucket is in another region; add region=NAME to the s3:// URL",
}

// remoteError turns an error of minio-go into fs.ErrNotExist, errExists or a RemoteError.
func remoteError(err error) error {
	var response minio.ErrorResponse
	var broken *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &response):
		return responseError(response)
	case errors.Is(err, context.DeadlineExceeded):
		return RemoteError{Reason: "S3 does not answer in time"}
	case errors.As(err, &broken): // it contains the URL, and so the key of the file
		err = broken.Err
	}
	reason := err.Error()
	if strings.HasPrefix(reason, "Connection closed by foreign host") {
		reason = "the connection was closed"
	}
	return RemoteError{Reason: "S3 is unreachable: " + reason}
}

func responseError(r minio.ErrorResponse) error {
	switch {
	case r.Code == minio.NoSuchKey || r.Code == minio.NoSuchUpload:
		return fs.ErrNotExist
	case r.Code == minio.PreconditionFailed || r.StatusCode == http.StatusConflict:
		return errExists
	case settingErrors[r.Code] != "":
		return RemoteError{Reason: settingErrors[r.Code], Setting: true}
	}
	if r.Code == "" {
		r.Code = fmt.Sprint("status ", r.StatusCode)
	}
	return RemoteError{
		Reason:  fmt.Sprintf("S3 answers %s: %s", r.Code, strings.TrimSpace(r.Message)),
		Setting: r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden,
	}
}

// errExists reports that a conditional write found another object.
var errExists = errors.New("the object already exists")
