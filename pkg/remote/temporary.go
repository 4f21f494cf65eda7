package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// interrupted returns the cause of the context's end, with the error before it.
func interrupted(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w (%v)", cause, err) //nolint:errorlint // the interruption decides, not what it interrupted
	}
	return err
}

// temporary reports whether a status is worth a retry. 501 is permanent.
func temporary(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
		status >= 500 && status != http.StatusNotImplemented
}

// retryAfter parses a Retry-After header: seconds or an HTTP date (RFC 9110, 10.2.3). 0 means none.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if s, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(s) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return maxRetryAfter
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}
