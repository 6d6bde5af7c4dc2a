package main

import (
	"embed"
	"net/http"
)

// pageFiles are the lock screens as a page. Nothing in it comes from elsewhere.
//
//go:embed page/*.html page/*.css page/*.js
var pageFiles embed.FS

// pagePolicy lets the page run its own script and nothing else, call this program
// only, and stand in no frame: a tap could be stolen by what lies over it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// servePage adds the page to the control address.
func servePage(mux *http.ServeMux) {
	files := http.FileServerFS(pageFiles)
	safe := func(w http.ResponseWriter) {
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		safe(w)
		http.ServeFileFS(w, r, pageFiles, "page/index.html")
	})
	mux.HandleFunc("GET /page/{file}", func(w http.ResponseWriter, r *http.Request) {
		safe(w)
		files.ServeHTTP(w, r)
	})
}
