package cputime

import (
	"crypto/sha256"
	"runtime"
	"testing"
	"time"
)

func TestStart(t *testing.T) {
	t.Parallel()
	began := time.Now()
	stop := Start()
	for range 1000 {
		_ = sha256.Sum256(make([]byte, 10_000))
	}
	busy := stop()
	if took := time.Since(began); busy <= 0 || busy > took {
		t.Errorf("%s of %s", busy, took)
	}
	if runtime.GOOS != "linux" {
		return
	}
	stop = Start()
	<-time.After(50 * time.Millisecond)
	if idle := stop(); idle >= 50*time.Millisecond {
		t.Errorf("waiting used %s", idle)
	}
}
