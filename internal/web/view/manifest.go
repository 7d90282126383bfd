package view

import "encoding/json"

// manifestName returns the name of the file that describes the web app in a language to browsers that install it.
func manifestName(t *Texts) string { return "manifest." + t.Lang + ".webmanifest" }

// manifest returns the content of that file.
func manifest(t *Texts) []byte {
	type entry map[string]string
	b, err := json.Marshal(map[string]any{
		"id":               "/",
		"name":             t.Text("layout.name"),
		"short_name":       t.Text("nav.warranties"),
		"description":      t.Text("layout.description"),
		"lang":             t.Lang,
		"dir":              t.Dir,
		"start_url":        "/",
		"scope":            "/",
		"display":          "standalone",
		"background_color": "#faf9f6",
		"theme_color":      "#0a6b56",
		"icons": []entry{
			{"src": "icon-192.png", "sizes": "192x192", "type": "image/png"},
			{"src": "icon-512.png", "sizes": "512x512", "type": "image/png"},
			{"src": "icon-maskable.png", "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
		},
		"shortcuts": []entry{
			{"name": t.Text("warranty.new"), "url": "/warranties/new"},
			{"name": t.Text("nav.warranties"), "url": "/warranties"},
			{"name": t.Text("nav.claims"), "url": "/claims"},
		},
	})
	if err != nil {
		panic(err) // only of values that JSON cannot express
	}
	return b
}
