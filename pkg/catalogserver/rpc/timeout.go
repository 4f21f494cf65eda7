package rpc

import (
	"math"
	"strconv"
	"time"
)

// parseTimeout reads the header grpc-timeout: up to eight digits and a unit.
func parseTimeout(text string) (time.Duration, error) {
	malformed := Errorf(Internal, "grpc-timeout is malformed")
	if len(text) < 2 || len(text) > 9 {
		return 0, malformed
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if err != nil {
		return 0, malformed
	}
	unit, ok := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second,
		'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
	}[text[len(text)-1]]
	if !ok {
		return 0, malformed
	}
	if time.Duration(n) > math.MaxInt64/unit {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * unit, nil
}
