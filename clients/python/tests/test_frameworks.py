"""The adapters of frameworks: with the frameworks, the scripted model and a real Toolhost."""

from __future__ import annotations

import base64
from typing import Any

import anyio
import pytest

from conftest import TOKEN, Model, Server
from test_loops import PNG, execute
from toolhost_client import AsyncToolhost, Reply, Toolhost

CALLS = [execute("one", "echo one >> log; echo one"), {"as": "no", "tool": "read_file", "arguments": {"path": "none"}}]
TURNS = [
    {"calls": CALLS},
    {"calls": [{"as": "picture", "tool": "read_file", "arguments": {"path": "a.png"}}]},
    {"text": "{one.output}{picture:images}"},
]
DONE = f"one\n['image/png of {len(PNG)} bytes']"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, model: Model, server: Server) -> None:
    (server.workspace / "a.png").write_bytes(PNG)
    model.start(*TURNS)
    for name, value in {**model.environment(), "TOOLHOST_URL": server.url, "TOOLHOST_TOKEN": TOKEN}.items():
        monkeypatch.setenv(name, value)


def ids_of_calls() -> list[str]:
    with Toolhost() as toolhost:
        return sorted(call["id"] for call in toolhost.chat("c").calls())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_pydantic_ai(asynchronous: bool, server: Server) -> None:
    from pydantic_ai import Agent, ModelMessagesTypeAdapter
    from pydantic_ai.models.openai import OpenAIResponsesModel

    from toolhost_client.adapters import pydantic_ai

    async def main() -> None:
        async with AsyncToolhost() as toolhost:
            chat = toolhost.chat("c") if asynchronous else None
            tools = await pydantic_ai.tools(chat) if chat else pydantic_ai.tools(Toolhost().chat("c"))
            agent = Agent(OpenAIResponsesModel("scripted"), tools=tools)
            result = await agent.run("Go.")
            assert result.output == DONE
            # An agent whose history ends with open calls repeats them: none runs twice.
            stored = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
            again = await agent.run(message_history=stored[:2])
            assert again.output == DONE

    anyio.run(main)
    assert (server.workspace / "log").read_text() == "one\n"
    assert ids_of_calls() == ["1.call_1_1", "1.call_1_2", "2.call_2_1"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_openai_agents(asynchronous: bool, server: Server) -> None:
    from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    from toolhost_client.adapters import openai_agents

    set_tracing_disabled(True)

    async def main() -> None:
        async with AsyncToolhost() as toolhost:
            chat = toolhost.chat("c") if asynchronous else None
            tools = await openai_agents.tools(chat) if chat else openai_agents.tools(Toolhost().chat("c"))
            agent = Agent(name="agent", model=OpenAIResponsesModel("scripted", AsyncOpenAI()), tools=tools)
            for _ in range(2):
                result = await Runner.run(agent, "Go.")
                assert result.final_output == DONE

    anyio.run(main)
    assert (server.workspace / "log").read_text() == "one\n"
    assert ids_of_calls() == ["call_1_1", "call_1_2", "call_2_1"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_langchain(asynchronous: bool, server: Server) -> None:
    from langchain_core.messages import AIMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool

    from toolhost_client.adapters import langchain

    config: Any = {"metadata": {"langgraph_step": 3}}

    async def main() -> None:
        async with AsyncToolhost() as toolhost:
            chat = toolhost.chat("c")
            made = await langchain.tools(chat) if asynchronous else langchain.tools(Toolhost().chat("c"))
            tools = {tool.name: tool for tool in made}
            assert convert_to_openai_tool(tools["execute"])["function"]["parameters"]["required"] == ["command"]

            async def invoke(id: str, name: str, **arguments: Any) -> Any:
                message = AIMessage("", tool_calls=[{"id": id, "name": name, "args": arguments}])
                tool = tools[name]
                if asynchronous:
                    return await tool.ainvoke(message.tool_calls[0], config)
                return tool.invoke(message.tool_calls[0], config)

            for _ in range(2):
                message = await invoke("a/1", "execute", command="echo one >> log; echo one")
                assert (message.tool_call_id, message.status) == ("a/1", "success")
                assert '"output": "one\\n"' in message.content
            message = await invoke("b", "read_file", path="none")
            assert message.status == "error" and "none" in message.content
            message = await invoke("c", "read_file", path="a.png")
            assert message.content[1]["image_url"]["url"].endswith(base64.b64encode(PNG).decode())
            reply = await chat.get("3.a_1")
            assert isinstance(reply, Reply) and reply.tool == "execute"

    anyio.run(main)
    assert (server.workspace / "log").read_text() == "one\n"
    assert ids_of_calls() == ["3.a_1", "3.b", "3.c"]


def test_langgraph_repeats_a_step(server: Server) -> None:
    """A graph that breaks off after its calls ran repeats the step from its checkpoint: none runs twice."""
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from toolhost_client.adapters import langchain

    class Broken(BaseException):
        pass

    def ask(state: MessagesState) -> Any:
        turn = sum(isinstance(message, AIMessage) for message in state["messages"])
        command = {"command": f"echo {turn} >> log"}
        calls = [{"id": f"call_{place}", "name": "execute", "args": command} for place in range(2)]
        return {"messages": [AIMessage("", tool_calls=calls if turn < 2 else [])]}

    def run(state: MessagesState) -> Any:
        ran = node.invoke(state)
        if breaks:
            raise breaks.pop()
        return ran

    breaks = [Broken()]
    with Toolhost() as toolhost:
        node = ToolNode(langchain.tools(toolhost.chat("c")))
        graph = StateGraph(MessagesState).add_node("ask", ask).add_node("run", run)
        graph.add_edge(START, "ask").add_edge("run", "ask")
        graph.add_conditional_edges("ask", lambda state: "run" if state["messages"][-1].tool_calls else END)
        app = graph.compile(checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "1"}}
        with pytest.raises(Broken):
            app.invoke({"messages": [("user", "Go.")]}, thread)
        app.invoke(None, thread)
    assert (server.workspace / "log").read_text().split() == ["0", "0", "1", "1"]
    assert ids_of_calls() == ["2.call_0", "2.call_1", "4.call_0", "4.call_1"]
