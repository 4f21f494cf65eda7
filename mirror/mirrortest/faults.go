package mirrortest

import (
	"net/http"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// WithoutResponse returns an action that passes a request on and calls do, which ends the run. The run gets no response, so
// that it cannot be done before that.
func WithoutResponse(do func()) registrytest.Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		registrytest.LoseResponse()(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			do()
		}))
	}
}
