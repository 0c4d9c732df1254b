// Asks for the token, loads the description with it, and sends it with each request that is tried. It is kept in this page's
// memory only, and sent to this server only. Whoever is logged in to the console is not asked.
"use strict";

const form = document.getElementById("ask");
const field = document.getElementById("token");
const problem = document.getElementById("problem");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const authorization = `Bearer ${field.value.trim()}`;
  problem.textContent = "";
  try {
    const response = await fetch("/openapi.json", { headers: { authorization } });
    const body = await response.json();
    if (!response.ok) {
      throw new Error(body.detail || response.statusText);
    }
    show(body, authorization);
  } catch (error) {
    problem.textContent = error.message;
  }
});

fetch("/openapi.json").then(async (response) => {
  if (response.ok) {
    show(await response.json());
  }
});

// Shows the API. Without a token, the browser sends the cookie of the console.
function show(spec, authorization) {
  form.hidden = true;
  field.value = "";
  const ui = SwaggerUIBundle({
    spec,
    dom_id: "#api",
    deepLinking: true,
    displayRequestDuration: true,
    validatorUrl: null,
    // The commands for curl that the page shows name a variable. The token goes only into the requests.
    showMutatedRequest: false,
    onComplete: () => ui.preauthorizeApiKey("token", "$TOOLHOST_TOKEN"),
    requestInterceptor: (request) => {
      if (authorization && new URL(request.url, location.href).origin === location.origin) {
        // In the place of the variable.
        request.headers.Authorization = authorization;
      }
      return request;
    },
  });
}
